import { requireAll } from "@reins/base/domain/Condition"
import type { Actor } from "@reins/base/domain/Event"
import { DeliveryId, newId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { Effect } from "effect"
import { actorOf } from "../access/Access.js"
import { changesetRules } from "../changes/ChangeRules.js"
import type { Changeset } from "../changes/Changeset.js"
import { Changesets } from "../changes/Changesets.js"
import { Projects } from "../projects/Projects.js"
import type { SeenSession } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { type Authorship, makeAuthorship } from "./Authors.js"
import type { DeliveryInput } from "./DeliveriesApi.js"
import { deliveryAnswers, deliveryJobKind, hasMoved } from "./DeliveryAnswers.js"
import type { BranchMerge } from "./DeliveryRows.js"
import { DeliveryStore, type DeliveryTarget } from "./DeliveryStore.js"
import { deliveryTargets } from "./DeliveryTerms.js"
import { signingKeyStore } from "./signing/SigningKeyStore.js"

/** The inside of `Deliveries.request`. A delivery on top of a head may merge another commit into it. */
export const makeRequest = Effect.gen(function* () {
  const changesets = yield* Changesets
  const sessions = yield* SessionStore
  const store = yield* DeliveryStore
  const answers = yield* deliveryAnswers
  const targetsOf = yield* deliveryTargets
  const commitOf = yield* makeCommitTerms

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
    changesetId: string,
    input: DeliveryInput,
    merges?: BranchMerge
  ) {
    const changeset = yield* changesets.get(principal, changesetId)
    const session = yield* sessions.writable(principal, changeset.session_id)
    yield* requireAll(changesetRules.deliver, changeset)
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
          onto: input.onto ?? "base",
          merges,
          allow: input.allow ?? [],
          title: input.title ?? session.title,
          ...(yield* commitOf(session, changeset, {
            ...input,
            transport: target.transport,
            asker: actorOf(principal)
          })),
          remoteUrl: target.transport === "git_branch" ? session.tree.repository : null
        },
        actorOf(principal)
      )
      return yield* answers.start(deliveryJobKind, { principal, session, delivery })
    }
    const means = {
      connectionId: input.connection_id ?? known.connection_id,
      // Only a branch that may be moved backwards takes the place of one on top of its head.
      updateStrategy: input.update_strategy ?? (input.onto === "head" ? "fast_forward" : known.update_strategy),
      onto: input.onto ?? (input.update_strategy === "force_with_lease" ? "base" : known.onto),
      allow: input.allow ?? known.allow
    }
    const isSame =
      !hasMoved(session, known) &&
      means.connectionId === known.connection_id &&
      means.updateStrategy === known.update_strategy &&
      means.onto === known.onto &&
      isSameSet(means.allow, known.allow)
    const commanded = { principal, session, delivery: known }
    if (isSame || (known.state !== "failed" && known.state !== "blocked")) return yield* answers.keep(commanded)
    yield* store.equip(known.id, means)
    return yield* answers.retry(commanded)
  })
})

/** Gives the function that finds what a new delivery says of its commit. A patch has none. */
const makeCommitTerms = Effect.gen(function* () {
  const projects = yield* Projects
  const keys = yield* signingKeyStore
  const authorship = yield* makeAuthorship
  return Effect.fnUntraced(function* (
    session: SeenSession,
    changeset: Changeset,
    input: Pick<DeliveryInput, "author" | "transport"> & { readonly asker: Actor }
  ) {
    if (input.transport === "patch") return { ...nobody, signs: false, keyId: null }
    const { delivery } = yield* projects.specOf(session)
    const terms = {
      author: input.author ?? delivery?.author ?? "requester",
      trailers: delivery?.trailers ?? {},
      asker: input.asker
    }
    const signs = delivery?.sign ?? false
    return {
      ...(yield* authorship(session, changeset, terms)),
      signs,
      keyId: signs ? yield* keys.newest(session.workspace_id) : null
    }
  })
})

const nobody: Authorship = { author: null, trailers: [] }

const isSameSet = (left: ReadonlyArray<string>, right: ReadonlyArray<string>): boolean => {
  const of = new Set(left)
  return of.size === new Set(right).size && right.every((name) => of.has(name))
}
