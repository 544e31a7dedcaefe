import { Context, Effect, Layer } from "effect"
import type { DeliveryAnswer, DeliveryInput } from "../api/ChangesApi.js"
import type { Changeset } from "../domain/Changeset.js"
import {
  type Delivery,
  type DeliveryReason,
  type DeliveryState,
  type DeliveryStep,
  deliveryStates
} from "../domain/Delivery.js"
import type { Actor, EventType } from "../domain/Event.js"
import { DeliveryId, newId } from "../domain/Ids.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import type { ProjectSpec } from "../domain/Project.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { now } from "../domain/Timestamp.js"
import { actorOf } from "../identity/Access.js"
import { Jobs } from "../jobs/Jobs.js"
import { Projects } from "../projects/Projects.js"
import { type SessionRow, SessionStore } from "../sessions/SessionStore.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { Changesets } from "./Changesets.js"

/** The kind of the job that carries out a delivery. */
export const deliveryJobKind = "delivery.execute"

export interface DeliveryChange {
  readonly state: DeliveryState
  readonly reason?: DeliveryReason
  readonly reasonMessage?: string
  readonly commit?: string
  readonly observedHead?: string | null
  readonly patch?: string
}

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
    /** The same changeset, transport and target give the same delivery back. Fails with `stale_subject` for an unsealed changeset. */
    readonly request: (
      principal: Principal,
      changesetId: string,
      input: DeliveryInput
    ) => Effect.Effect<DeliveryAnswer, ReinsError>
    /** Another try of a delivery that failed or is blocked. */
    readonly retry: (principal: Principal, deliveryId: string) => Effect.Effect<DeliveryAnswer, ReinsError>
    readonly find: (deliveryId: string) => Effect.Effect<Delivery | undefined>
    /** Adds to the evidence. Only inside a commit. */
    readonly addStep: (
      deliveryId: DeliveryId,
      step: Omit<DeliveryStep, "recorded_at">,
      actor: Actor
    ) => Effect.Effect<void>
    /** Moves a delivery and tells it. Only inside a commit. Other moves than drawn die. */
    readonly move: (deliveryId: DeliveryId, change: DeliveryChange, actor: Actor) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const jobs = yield* Jobs
      const store = yield* SessionStore
      const projects = yield* Projects
      const changesets = yield* Changesets
      const sql = db.sql

      const find = (id: string) =>
        Effect.map(db.first(sql<DeliveryRow>`select * from deliveries where id = ${id}`), (row) =>
          row === undefined ? undefined : toDelivery(row)
        )
      const existing = (id: string) =>
        Effect.flatMap(find(id), (delivery) =>
          delivery ? Effect.succeed(delivery) : Effect.dieMessage(`no delivery ${id}`)
        )
      const tell = (
        delivery: Delivery,
        type: EventType & `delivery.${string}`,
        actor: Actor,
        step: DeliveryStep | null = null
      ) =>
        journal.append(delivery.session_id, actor, [
          {
            type,
            payload: {
              state: delivery.state,
              reason: delivery.reason,
              reason_message: delivery.reason_message,
              target_ref: delivery.target_ref,
              commit: delivery.commit,
              step
            },
            subjects: { delivery_id: delivery.id, changeset_id: delivery.changeset_id }
          }
        ])

      const execute = Effect.fnUntraced(function* (delivery: Delivery, session: SessionRow, principal: Principal) {
        const operation = yield* jobs.enqueue({
          kind: deliveryJobKind,
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

      const lastOperation = Effect.fnUntraced(function* (
        delivery: Delivery,
        session: SessionRow,
        principal: Principal
      ) {
        const operation = yield* jobs.newestOf(delivery.id)
        return { operation, delivery, event_watermark: yield* journal.append(session.id, actorOf(principal), []) }
      })

      const specOf = (session: SessionRow): Effect.Effect<ProjectSpec, ReinsError> =>
        session.project_version_id === null
          ? Effect.succeed({})
          : Effect.map(
              projects.resolve(session.workspace_id, { versionId: session.project_version_id }),
              (version) => version.spec
            )

      const insert = Effect.fnUntraced(function* (session: SessionRow, changeset: Changeset, input: DeliveryInput) {
        const spec = yield* specOf(session)
        const transport =
          input.transport ?? spec.delivery?.transport ?? (session.repository === null ? "patch" : "git_branch")
        if (transport === "git_branch" && session.repository === null) return yield* noRepository
        const target = input.target_ref ?? `${spec.delivery?.branch_prefix ?? "reins"}/${session.id}/${changeset.id}`
        const known = yield* db.first(sql<DeliveryRow>`select * from deliveries where changeset_id = ${changeset.id}
        and transport = ${transport} and target_ref = ${target}`)
        if (known !== undefined) return { delivery: toDelivery(known), isNew: false }
        const id = yield* newId(DeliveryId)
        const at = yield* now
        yield* db.run(
          sql`insert into deliveries ${sql.insert({
            id,
            changeset_id: changeset.id,
            session_id: session.id,
            transport,
            connection_id: input.connection_id ?? null,
            target_ref: target,
            title: input.title ?? session.title,
            update_strategy: input.update_strategy ?? "fast_forward",
            state: "pending",
            remote_url: transport === "git_branch" ? session.repository : null,
            steps: "[]",
            version: 1,
            created_at: at,
            updated_at: at
          })}`
        )
        return { delivery: yield* existing(id), isNew: true }
      })

      const move = Effect.fnUntraced(function* (id: DeliveryId, change: DeliveryChange, actor: Actor) {
        const delivery = yield* existing(id)
        yield* Effect.orDie(deliveryStates.check(delivery.state, change.state))
        yield* db.run(
          sql`update deliveries set ${sql.update({
            state: change.state,
            reason: change.reason ?? null,
            reason_message: change.reasonMessage ?? null,
            commit_sha: change.commit ?? delivery.commit,
            patch: change.patch ?? delivery.patch,
            observed_head: change.observedHead === undefined ? delivery.observed_head : change.observedHead,
            updated_at: yield* now
          })}, version = version + 1 where id = ${id}`
        )
        yield* tell(yield* existing(id), eventOf[change.state], actor)
      })

      return Deliveries.of({
        list: Effect.fn("Deliveries.list")(function* (principal, changesetId, page) {
          const changeset = yield* changesets.get(principal, changesetId)
          const { before, limit } = yield* Keyset.descending(page)
          const rows = yield* db.all(sql<DeliveryRow>`select * from deliveries
          where changeset_id = ${changeset.id} and id < ${before} order by id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toDelivery), limit, (delivery) => delivery.id)
        }),
        get: Effect.fn("Deliveries.get")(function* (principal, deliveryId) {
          const delivery = yield* find(deliveryId)
          if (delivery === undefined) return yield* notFound()
          yield* store.readable(principal, delivery.session_id)
          return delivery
        }),
        request: Effect.fn("Deliveries.request")((principal, changesetId, input) =>
          journal.commit(
            Effect.gen(function* () {
              const changeset = yield* changesets.get(principal, changesetId)
              const session = yield* store.writable(principal, changeset.session_id)
              if (changeset.state !== "ready") return yield* unsealed(changeset)
              const { delivery, isNew } = yield* insert(session, changeset, input)
              if (!isNew) return yield* lastOperation(delivery, session, principal)
              yield* tell(delivery, "delivery.requested", actorOf(principal))
              return yield* execute(delivery, session, principal)
            })
          )
        ),
        retry: Effect.fn("Deliveries.retry")((principal, deliveryId) =>
          journal.commit(
            Effect.gen(function* () {
              const found = yield* find(deliveryId)
              if (found === undefined) return yield* notFound()
              const session = yield* store.writable(principal, found.session_id)
              const delivery = yield* existing(found.id)
              if (delivery.state === "failed") yield* move(delivery.id, { state: "pending" }, actorOf(principal))
              else yield* deliveryStates.check(delivery.state, delivery.state === "blocked" ? "executing" : "pending")
              return yield* execute(delivery, session, principal)
            })
          )
        ),
        find,
        addStep: Effect.fn("Deliveries.addStep")(function* (id, step, actor) {
          const delivery = yield* existing(id)
          const recorded = { ...step, recorded_at: yield* now }
          yield* db.run(
            sql`update deliveries set steps = ${JSON.stringify([...delivery.steps, recorded])} where id = ${id}`
          )
          yield* tell(delivery, "delivery.progressed", actor, recorded)
        }),
        move
      })
    })
  )
}

const eventOf = {
  pending: "delivery.requested",
  executing: "delivery.progressed",
  succeeded: "delivery.succeeded",
  failed: "delivery.failed",
  blocked: "delivery.blocked",
  cancelled: "delivery.cancelled"
} as const satisfies Record<DeliveryState, EventType>

const unsealed = (changeset: Changeset): ReinsError =>
  new ReinsError({
    code: "stale_subject",
    message: "Only a sealed changeset can be delivered. Wait for the event changeset.ready, or capture a new one.",
    details: { state: changeset.state }
  })

const noRepository = new ReinsError({
  code: "invalid_transition",
  message:
    'The session did not start from a repository, so there is no branch to deliver to. Use the transport "patch".',
  details: { resource: "delivery", transport: "git_branch" }
})

interface DeliveryRow extends Omit<Delivery, "steps" | "commit"> {
  readonly commit_sha: string | null
  readonly steps: string
}

const toDelivery = ({ commit_sha, ...row }: DeliveryRow): Delivery => ({
  ...row,
  commit: commit_sha,
  steps: JSON.parse(row.steps)
})
