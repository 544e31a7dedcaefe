import { Context, Effect, Layer, ParseResult, Schema } from "effect"
import { actorOf } from "../access/Access.js"
import type { DeliveryAnswer, DeliveryInput } from "../api/ChangesApi.js"
import { fn } from "../base/Traced.js"
import { ConnectionKinds } from "../connections/ConnectionKinds.js"
import { Connections } from "../connections/Connections.js"
import type { Changeset } from "../domain/Changeset.js"
import { type Delivery, deliveryStates } from "../domain/Delivery.js"
import { type ConnectionId, DeliveryId, newId } from "../domain/Ids.js"
import { oneOf } from "../domain/Installed.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import type { ProjectSpec } from "../domain/Project.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { RequestInvalid } from "../domain/RequestInvalid.js"
import { isRefName } from "../git/RefName.js"
import { JobStore } from "../jobs/JobStore.js"
import { Projects } from "../projects/Projects.js"
import { type SessionRow, SessionStore } from "../sessions/SessionStore.js"
import type { Command } from "../store/Command.js"
import { Database } from "../store/Database.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { Changesets } from "./Changesets.js"
import { deliveryCancelled } from "./DeliveryCancelled.js"
import { DeliveryStore } from "./DeliveryStore.js"

/** The kind of the job that carries out a delivery. */
export const deliveryJobKind = "delivery.execute"
/** The kind of the job that looks at the remote of a delivery. */
export const refreshJobKind = "delivery.refresh"

/** Sealed changesets on their way out: as a patch, or as a branch of the repository. */
export class Deliveries extends Context.Tag("@reins/core/changes/Deliveries")<
  Deliveries,
  {
    /** Newest first. */
    readonly list: (
      principal: Principal,
      changesetId: string,
      page: PageRequest
    ) => Effect.Effect<Page<Delivery>, ReinsError>
    readonly get: (principal: Principal, deliveryId: string) => Effect.Effect<Delivery, ReinsError>
    /**
     * The same changeset, transport and target give the same delivery back. One that failed or is blocked goes on when it is asked
     * for with another connection or strategy. Fails with `stale_subject` for an unsealed changeset.
     */
    readonly request: (
      principal: Principal,
      changesetId: string,
      input: DeliveryInput
    ) => Command<DeliveryAnswer, ReinsError | RequestInvalid>
    /** Another try of a delivery that failed or is blocked. */
    readonly retry: (principal: Principal, deliveryId: string) => Command<DeliveryAnswer, ReinsError>
    /**
     * Looks at the remote branch and its merge requests. One that is blocked is tried again; one that is under way looks by itself,
     * and its operation is given back, as is that of a patch.
     */
    readonly refresh: (principal: Principal, deliveryId: string) => Command<DeliveryAnswer, ReinsError>
    /** Stops a delivery before its push. One that is pushing ends as the push does. */
    readonly cancel: (principal: Principal, deliveryId: string) => Command<DeliveryAnswer, ReinsError>
  }
>() {
  static readonly layer = Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const sql = (yield* Database).sql
      const journal = yield* Journal
      const jobs = yield* JobStore
      const sessions = yield* SessionStore
      const projects = yield* Projects
      const connections = yield* Connections
      const connectionKinds = yield* ConnectionKinds
      const changesets = yield* Changesets
      const store = yield* DeliveryStore
      const cancelled = yield* deliveryCancelled

      const existing = existingOf("delivery", store.find)
      /** The delivery, with its session held against other writers. */
      const writable = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const found = yield* store.find(id)
        if (found === undefined) return yield* notFound()
        const session = yield* sessions.writable(principal, found.session_id)
        return { session, delivery: yield* existing(id) }
      })
      const enqueue = Effect.fnUntraced(function* (
        kind: string,
        delivery: Delivery,
        session: SessionRow,
        principal: Principal
      ) {
        const operation = yield* jobs.enqueue({
          kind,
          subject: { type: "delivery", id: delivery.id },
          workspaceId: session.workspace_id,
          payload: { delivery_id: delivery.id },
          maxAttempts: 5
        })
        return {
          operation,
          delivery: yield* existing(delivery.id),
          event_watermark: yield* journal.append(session.id, actorOf(principal), [])
        }
      })
      const lastOperation = Effect.fnUntraced(function* (id: string, session: SessionRow, principal: Principal) {
        return {
          operation: yield* jobs.newestOf(id),
          delivery: yield* existing(id),
          event_watermark: yield* journal.append(session.id, actorOf(principal), [])
        }
      })
      const tryAgain = Effect.fnUntraced(function* (delivery: Delivery, session: SessionRow, principal: Principal) {
        const state = delivery.state === "blocked" ? "executing" : "pending"
        yield* deliveryStates.check(delivery.state, state)
        yield* store.move(delivery.id, { state }, actorOf(principal))
        return yield* enqueue(deliveryJobKind, delivery, session, principal)
      })

      const specOf = (session: SessionRow): Effect.Effect<ProjectSpec, ReinsError> =>
        session.project_version_id === null
          ? Effect.succeed({})
          : Effect.map(
              projects.resolve(session.workspace_id, { versionId: session.project_version_id }),
              (version) => version.spec
            )
      const requireGit = Effect.fnUntraced(function* (principal: Principal, session: SessionRow, id: ConnectionId) {
        const connection = yield* connections.get(principal, id)
        if (connection.workspace_id !== session.workspace_id) return yield* notFound()
        if (!connectionKinds.forGit.includes(connection.kind))
          return yield* notGit(connection.kind, connectionKinds.forGit)
      })
      /** What a request stands for, with everything that it leaves open filled in. */
      const resolve = Effect.fnUntraced(function* (session: SessionRow, changeset: Changeset, input: DeliveryInput) {
        const spec = yield* specOf(session)
        const transport =
          input.transport ?? spec.delivery?.transport ?? (session.repository === null ? "patch" : "git_branch")
        if (transport === "git_branch" && session.repository === null) return yield* noRepository
        const target =
          input.target_ref?.replace(/^refs\/heads\//, "") ??
          `${spec.delivery?.branch_prefix ?? "reins"}/${session.id}/${changeset.id}`
        if (!isRefName(target)) return yield* notBranch("target_ref", input.target_ref)
        return { transport, target }
      })

      const requested = Effect.fnUntraced(function* (
        principal: Principal,
        session: SessionRow,
        changeset: Changeset,
        input: DeliveryInput
      ) {
        if (input.connection_id !== undefined) yield* requireGit(principal, session, input.connection_id)
        const { target, transport } = yield* resolve(session, changeset, input)
        const [known] = yield* store.select(sql`changeset_id = ${changeset.id} and transport = ${transport}
          and target_ref = ${target}`)
        if (known === undefined) {
          const inserted = yield* store.insert(
            {
              id: yield* newId(DeliveryId),
              changesetId: changeset.id,
              sessionId: session.id,
              transport,
              connectionId: input.connection_id ?? null,
              targetRef: target,
              title: input.title ?? session.title,
              updateStrategy: input.update_strategy ?? "fast_forward",
              remoteUrl: transport === "git_branch" ? session.repository : null
            },
            actorOf(principal)
          )
          return yield* enqueue(deliveryJobKind, inserted, session, principal)
        }
        const means = {
          connectionId: input.connection_id ?? known.connection_id,
          updateStrategy: input.update_strategy ?? known.update_strategy
        }
        const isSame = means.connectionId === known.connection_id && means.updateStrategy === known.update_strategy
        if (isSame || (known.state !== "failed" && known.state !== "blocked")) {
          return yield* lastOperation(known.id, session, principal)
        }
        yield* store.equip(known.id, means)
        return yield* tryAgain(known, session, principal)
      })

      return Deliveries.of({
        list: fn("Deliveries.list")(function* (principal, changesetId, page) {
          const changeset = yield* changesets.get(principal, changesetId)
          const { before, limit } = yield* Keyset.descending(page)
          const found = yield* store.select(
            sql`changeset_id = ${changeset.id} and id < ${before} order by id desc limit ${limit + 1}`
          )
          return Keyset.page(found, limit, (delivery) => delivery.id)
        }),
        get: fn("Deliveries.get")(function* (principal, deliveryId) {
          const delivery = yield* store.find(deliveryId)
          if (delivery === undefined) return yield* notFound()
          yield* sessions.readable(principal, delivery.session_id)
          return delivery
        }),
        request: (principal, changesetId, input) =>
          journal.command(
            "Deliveries.request",
            Effect.gen(function* () {
              const changeset = yield* changesets.get(principal, changesetId)
              const session = yield* sessions.writable(principal, changeset.session_id)
              if (changeset.state !== "ready") return yield* unsealed(changeset)
              return yield* requested(principal, session, changeset, input)
            })
          ),
        retry: (principal, deliveryId) =>
          journal.command(
            "Deliveries.retry",
            Effect.flatMap(writable(principal, deliveryId), ({ delivery, session }) =>
              tryAgain(delivery, session, principal)
            )
          ),
        refresh: (principal, deliveryId) =>
          journal.command(
            "Deliveries.refresh",
            Effect.gen(function* () {
              const { delivery, session } = yield* writable(principal, deliveryId)
              if (delivery.state === "blocked") return yield* tryAgain(delivery, session, principal)
              const last = yield* jobs.newestOf(delivery.id)
              const isLive = last.state === "queued" || last.state === "running" || last.state === "retry_wait"
              return isLive || delivery.transport === "patch"
                ? yield* lastOperation(delivery.id, session, principal)
                : yield* enqueue(refreshJobKind, delivery, session, principal)
            })
          ),
        cancel: (principal, deliveryId) =>
          journal.command(
            "Deliveries.cancel",
            Effect.gen(function* () {
              const { delivery, session } = yield* writable(principal, deliveryId)
              if (delivery.state !== "pending") yield* deliveryStates.check(delivery.state, "cancelled")
              yield* jobs.cancel((yield* jobs.newestOf(delivery.id)).job_id)
              const { state } = yield* jobs.newestOf(delivery.id)
              if (state === "cancelled") {
                if (delivery.state === "pending") {
                  yield* store.move(delivery.id, { state: "executing" }, actorOf(principal))
                }
                yield* cancelled(delivery.id, actorOf(principal))
              }
              return yield* lastOperation(delivery.id, session, principal)
            })
          )
      })
    })
  )
}

/** The refusal of what needs a sealed changeset. */
export const unsealed = (changeset: Changeset): ReinsError =>
  new ReinsError({
    code: "stale_subject",
    message:
      "Only a sealed changeset can be delivered or applied. Wait for the event changeset.ready, or capture a new one.",
    details: { state: changeset.state }
  })

/** The refusal of a branch name that git does not take. */
export const notBranch = (field: string, given: unknown): RequestInvalid =>
  new RequestInvalid({
    loc: ["body", field],
    issue: new ParseResult.Type(Schema.String.ast, given, "Input should be a valid branch name"),
    input: given
  })

const notGit = (kind: string, kinds: ReadonlyArray<string>): ReinsError =>
  new ReinsError({
    code: "connection_required",
    message: `A delivery needs a connection of the kind ${oneOf(kinds)}. Choose one of these, or none.`,
    details: { kind }
  })

const noRepository = new ReinsError({
  code: "invalid_transition",
  message:
    'The session did not start from a repository, so there is no branch to deliver to. Use the transport "patch".',
  details: { resource: "delivery", transport: "git_branch" }
})
