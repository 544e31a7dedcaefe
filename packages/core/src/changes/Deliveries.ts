import { Context, Effect, Layer } from "effect"
import { actorOf, type Denied, type Unseen } from "../access/Access.js"
import { fn } from "../base/Traced.js"
import { requireAll } from "../domain/Condition.js"
import { DeliveryId, newId } from "../domain/Ids.js"
import type { Page, StatePageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, type ReinsError } from "../domain/ReinsError.js"
import type { RequestInvalid } from "../domain/RequestInvalid.js"
import { jobStates } from "../jobs/Job.js"
import { JobStore } from "../jobs/JobStore.js"
import { SessionListeners } from "../sessions/SessionListeners.js"
import type { SeenSession } from "../sessions/SessionRow.js"
import { SessionStore } from "../sessions/SessionStore.js"
import type { Command } from "../store/Command.js"
import type { Commit } from "../store/Commit.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { changesetRules, deliveryRules, toDeliveryFor } from "./ChangeRules.js"
import type { DeliveryAnswer, DeliveryInput } from "./ChangesApi.js"
import type { Changeset } from "./Changeset.js"
import { ChangesetStore } from "./ChangesetStore.js"
import { Changesets } from "./Changesets.js"
import type { ActionableDelivery, DeliveryState } from "./Delivery.js"
import {
  type CommandedDelivery,
  deliveryAnswers,
  deliveryJobKind,
  hasMoved,
  refreshJobKind
} from "./DeliveryAnswers.js"
import { deliveryCancelled } from "./DeliveryEnd.js"
import { DeliveryStore, type DeliveryTarget } from "./DeliveryStore.js"
import { deliveryTargets } from "./DeliveryTerms.js"

/** The codes of a command for a delivery that the principal may not change, or whose state does not allow it. */
type CommandRefusal = Denied | ReinsError<"invalid_transition">

/**
 * Sealed changesets on their way out: as a patch, or as a branch of the repository. A command gives back the delivery with the job that works
 * on it; the end comes as an event of the session. Every command fails with `not_found` for a delivery whose session the principal may not
 * see, and with `forbidden` when it may see the session and not change it.
 */
export class Deliveries extends Context.Tag("@reins/core/changes/Deliveries")<
  Deliveries,
  {
    /** The deliveries of a changeset, newest first. A changeset that the principal may not see is `not_found`. */
    readonly list: (
      principal: Principal,
      changesetId: string,
      page: StatePageRequest<DeliveryState>
    ) => Effect.Effect<Page<ActionableDelivery>, Unseen | ReinsError<"invalid_cursor">>
    /** A delivery with the steps that it has taken so far. Fails with `not_found` unless the principal may see its session. */
    readonly get: (principal: Principal, deliveryId: string) => Effect.Effect<ActionableDelivery, Unseen>
    /**
     * Asks for a delivery. The same changeset, transport and target give the same delivery back. One that failed or is blocked goes on when
     * it is asked for with another connection, strategy or `allow`. Fails with `stale_subject` for an unsealed changeset, with
     * `connection_required` for a connection that git cannot use, and with `invalid_transition` for a branch of a session without a
     * repository.
     */
    readonly request: (
      principal: Principal,
      changesetId: string,
      input: DeliveryInput
    ) => Command<DeliveryAnswer, CommandRefusal | ReinsError<"stale_subject" | "connection_required"> | RequestInvalid>
    /**
     * Tries again a delivery that failed or is blocked, and looks at the remote first, so that nothing is pushed twice. Fails with
     * `invalid_transition` for a delivery in another state.
     */
    readonly retry: (principal: Principal, deliveryId: string) => Command<DeliveryAnswer, CommandRefusal>
    /**
     * Looks at the remote branch and its merge requests. A blocked delivery is tried again. A delivery under way looks by itself, and a patch
     * has no remote: both are answered with their newest job.
     */
    readonly refresh: (principal: Principal, deliveryId: string) => Command<DeliveryAnswer, CommandRefusal>
    /**
     * Stops a delivery before its push. A push that has begun decides the end of its delivery. Fails with `invalid_transition` for a delivery
     * that is neither pending nor under way.
     */
    readonly cancel: (principal: Principal, deliveryId: string) => Command<DeliveryAnswer, CommandRefusal>
  }
>() {
  static readonly layer = Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const changesets = yield* Changesets
      const changesetStore = yield* ChangesetStore
      const store = yield* DeliveryStore
      const answers = yield* deliveryAnswers
      const request = yield* makeRequest
      const refresh = yield* makeRefresh
      const cancel = yield* makeCancel
      const existing = existingOf("delivery", store.find)
      yield* (yield* SessionListeners).register({ isDelivering: ({ id }) => store.isUnderWay(id) })

      /** A command for a delivery that the principal may change. */
      const commanding =
        <E>(name: string, inside: (commanded: CommandedDelivery) => Effect.Effect<DeliveryAnswer, E, Commit>) =>
        (principal: Principal, id: string) =>
          journal.command(
            name,
            { by: principal, about: { type: "delivery", id } },
            Effect.gen(function* () {
              const found = yield* store.find(id)
              if (found === undefined) return yield* notFound()
              const session = yield* sessions.writable(principal, found.session_id)
              return yield* inside({ principal, session, delivery: yield* existing(id) })
            })
          )

      return Deliveries.of({
        list: fn("Deliveries.list")(function* (principal, changesetId, page) {
          const changeset = yield* changesetStore.find(changesetId)
          if (changeset === undefined) return yield* notFound()
          const session = yield* sessions.readable(principal, changeset.session_id)
          return Keyset.map(yield* store.list(changeset.id, page), toDeliveryFor(principal, session))
        }),
        get: fn("Deliveries.get")(function* (principal, deliveryId) {
          const delivery = yield* store.find(deliveryId)
          if (delivery === undefined) return yield* notFound()
          const session = yield* sessions.readable(principal, delivery.session_id)
          return toDeliveryFor(principal, session)(delivery)
        }),
        request: (principal, changesetId, input) =>
          journal.command(
            "Deliveries.request",
            { by: principal, about: { type: "changeset", id: changesetId } },
            Effect.gen(function* () {
              const changeset = yield* changesets.get(principal, changesetId)
              const session = yield* sessions.writable(principal, changeset.session_id)
              yield* requireAll(changesetRules.deliver, changeset)
              return yield* request(principal, session, changeset, input)
            })
          ),
        retry: commanding("Deliveries.retry", answers.retry),
        refresh: commanding("Deliveries.refresh", refresh),
        cancel: commanding("Deliveries.cancel", cancel)
      })
    })
  )
}

/** Requests the delivery of a sealed changeset. The commit holds its session. */
const makeRequest = Effect.gen(function* () {
  const store = yield* DeliveryStore
  const answers = yield* deliveryAnswers
  const targetsOf = yield* deliveryTargets

  /** The delivery that was requested before, to the first of the targets that has one. */
  const knownOf = Effect.fnUntraced(function* (targets: ReadonlyArray<DeliveryTarget>) {
    for (const target of targets) {
      const known = yield* store.findOf(target)
      if (known !== undefined) return known
    }
    return undefined
  })

  return Effect.fnUntraced(function* (
    principal: Principal,
    session: SeenSession,
    changeset: Changeset,
    input: DeliveryInput
  ) {
    const [target, ...others] = yield* targetsOf(principal, session, changeset, input)
    const known = yield* knownOf([target, ...others])
    if (known === undefined) {
      const delivery = yield* store.insert(
        {
          ...target,
          id: yield* newId(DeliveryId),
          sessionId: session.id,
          connectionId: input.connection_id ?? null,
          updateStrategy: input.update_strategy ?? "fast_forward",
          allow: input.allow ?? [],
          title: input.title ?? session.title,
          remoteUrl: target.transport === "git_branch" ? session.tree.repository : null
        },
        actorOf(principal)
      )
      return yield* answers.start(deliveryJobKind, { principal, session, delivery })
    }
    const means = {
      connectionId: input.connection_id ?? known.connection_id,
      updateStrategy: input.update_strategy ?? known.update_strategy,
      allow: input.allow ?? known.allow
    }
    const isSame =
      !hasMoved(session, known) &&
      means.connectionId === known.connection_id &&
      means.updateStrategy === known.update_strategy &&
      isSameSet(means.allow, known.allow)
    const commanded = { principal, session, delivery: known }
    if (isSame || (known.state !== "failed" && known.state !== "blocked")) return yield* answers.keep(commanded)
    yield* store.equip(known.id, means)
    return yield* answers.retry(commanded)
  })
})

const isSameSet = (left: ReadonlyArray<string>, right: ReadonlyArray<string>): boolean => {
  const of = new Set(left)
  return of.size === new Set(right).size && right.every((name) => of.has(name))
}

/** The inside of `Deliveries.refresh`. */
const makeRefresh = Effect.gen(function* () {
  const jobs = yield* JobStore
  const answers = yield* deliveryAnswers
  return Effect.fnUntraced(function* (commanded: CommandedDelivery) {
    const { delivery } = commanded
    if (delivery.state === "blocked") return yield* answers.retry(commanded)
    const last = yield* jobs.newestOf(delivery.id)
    return jobStates.isTerminal(last.state) && delivery.transport !== "patch"
      ? yield* answers.start(refreshJobKind, commanded)
      : yield* answers.keep(commanded)
  })
})

/** The inside of `Deliveries.cancel`. */
const makeCancel = Effect.gen(function* () {
  const jobs = yield* JobStore
  const store = yield* DeliveryStore
  const answers = yield* deliveryAnswers
  const cancelled = yield* deliveryCancelled
  return Effect.fnUntraced(function* (commanded: CommandedDelivery) {
    const { delivery, principal } = commanded
    const actor = actorOf(principal)
    yield* requireAll(deliveryRules.cancel, delivery)
    yield* jobs.cancel((yield* jobs.newestOf(delivery.id)).job_id)
    const { state } = yield* jobs.newestOf(delivery.id)
    if (state === "cancelled") {
      if (delivery.state === "pending") yield* store.move(delivery.id, { state: "executing" }, actor)
      yield* cancelled(delivery.id, actor)
    }
    return yield* answers.keep(commanded)
  })
})
