import { Context, Effect, Layer } from "effect"
import { Access } from "../access/Access.js"
import { fn } from "../base/Traced.js"
import {
  type Delegation,
  type DelegationReason,
  type DelegationState,
  delegationStates,
  type Result,
  type ResultSchema,
  type Wait,
  type WaitState,
  waitStateOf,
  waitStates
} from "../domain/Delegation.js"
import type { Actor, NewEvent } from "../domain/Event.js"
import { type DelegationId, type JobId, newId, ResultId, type SessionId, WaitId } from "../domain/Ids.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, type ReinsError } from "../domain/ReinsError.js"
import { now, type Timestamp } from "../domain/Timestamp.js"
import { JobStore } from "../jobs/JobStore.js"
import { type SessionRow, SessionStore } from "../sessions/SessionStore.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"

/** The kind of the job that tells the session that delegated of the end; its payload is `{wait_id}`. */
export const wakeJobKind = "delegation.wake"

export const delegationTopic = (delegationId: string): string => `delegation:${delegationId}`

export interface NewDelegation
  extends Pick<
    Delegation,
    "id" | "workspace_id" | "session_id" | "child_session_id" | "depth" | "changeset_id" | "deadline_at"
  > {
  readonly brief: Brief
  readonly deadlineJobId: JobId | null
}

/** What the child was asked for. It never changes. */
export interface Brief {
  readonly role: string
  readonly instructions: string
  readonly result_schema: ResultSchema | null
}

export type ResultContent = Pick<Result, "kind" | "verdict" | "summary" | "value" | "changeset_id">

type DelegationEvent = Extract<NewEvent, { readonly type: `delegation.${string}` }>

/** The rows of delegations, their results and waits. The only place that moves a delegation; its child's session is what is locked. */
export class DelegationStore extends Context.Tag("@reins/core/delegations/DelegationStore")<
  DelegationStore,
  {
    readonly find: (delegationId: string) => Effect.Effect<Delegation | undefined>
    /** Newest first. */
    readonly list: (sessionId: SessionId, page: PageRequest) => Effect.Effect<Page<Delegation>, ReinsError>
    /** Those of a session that have not ended, oldest first. */
    readonly live: (sessionId: SessionId) => Effect.Effect<ReadonlyArray<Delegation>>
    /** Fails with `not_found` for a delegation that the principal may not see. */
    readonly readable: (principal: Principal, delegationId: string) => Effect.Effect<Delegation, ReinsError>
    /** A delegation that the principal may change, and its child, held until the commit is through. */
    readonly writable: (
      principal: Principal,
      delegationId: string
    ) => Effect.Effect<{ readonly delegation: Delegation; readonly child: SessionRow }, ReinsError, Commit>
    /** `writable` for the service itself. */
    readonly lock: (
      delegationId: string
    ) => Effect.Effect<{ readonly delegation: Delegation; readonly child: SessionRow } | undefined, never, Commit>
    readonly insert: (delegation: NewDelegation, actor: Actor) => Effect.Effect<Delegation, never, Commit>
    /** Moves a delegation, tells it and wakes who waits for it. Its end takes back the deadline and starts the messages of the waits. The commit holds the child. Other moves than drawn die. */
    readonly move: (
      delegationId: DelegationId,
      to: DelegationState,
      actor: Actor,
      why?: { readonly reason: DelegationReason; readonly message: string }
    ) => Effect.Effect<Delegation, never, Commit>
    readonly tell: (
      delegation: Delegation,
      actor: Actor,
      event: DelegationEvent
    ) => Effect.Effect<number, never, Commit>
    readonly findResult: (delegationId: DelegationId) => Effect.Effect<Result | undefined>
    /** Only for a delegation without a result. */
    readonly insertResult: (
      delegation: Delegation,
      content: ResultContent,
      actor: Actor
    ) => Effect.Effect<Result, never, Commit>
    /** The lasting wait of a delegation, made if there is none. */
    readonly keepWait: (delegationId: DelegationId) => Effect.Effect<Wait, never, Commit>
    readonly findWait: (waitId: string) => Effect.Effect<Wait | undefined>
    /** Ends a lasting wait. Other moves than drawn die. */
    readonly settleWait: (wait: Wait, to: WaitState) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    DelegationStore,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const jobs = yield* JobStore
      const access = yield* Access
      const sessions = yield* SessionStore
      const sql = db.sql
      const columns = sql`delegations.*,
      (select id from delegation_results where delegation_id = delegations.id) as result_id`

      const findRow = (id: string) => db.first(sql<DelegationRow>`select ${columns} from delegations where id = ${id}`)
      const find = (id: string) => Effect.map(findRow(id), (row) => (row === undefined ? undefined : toDelegation(row)))

      const readable = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const delegation = yield* find(id)
        if (delegation === undefined) return yield* notFound()
        yield* access.read(principal, delegation.workspace_id)
        return delegation
      })

      const lock = Effect.fnUntraced(function* (id: string) {
        const unheld = yield* find(id)
        const child = unheld === undefined ? undefined : yield* sessions.lock(unheld.child_session_id)
        const delegation = yield* find(id)
        return delegation === undefined || child === undefined ? undefined : { delegation, child }
      })

      const tell = (delegation: Delegation, actor: Actor, event: DelegationEvent) =>
        journal.append(delegation.session_id, actor, [{ ...event, subjects: { delegation_id: delegation.id } }])

      const findWait = (where: "id" | "delegation_id", id: string) =>
        Effect.map(db.first(sql<WaitRow>`select * from delegation_waits where ${sql(where)} = ${id}`), (row) =>
          row === undefined ? undefined : toWait(row)
        )

      const settleWait = Effect.fnUntraced(function* (wait: Wait, to: WaitState) {
        yield* Effect.orDie(waitStates.check(wait.state, to))
        yield* db.run(sql`update delegation_waits set state = ${to}, settled_at = ${yield* now} where id = ${wait.id}`)
      })

      /** What the end of a delegation starts and ends. */
      const conclude = Effect.fnUntraced(function* (row: DelegationRow, delegation: Delegation) {
        if (row.deadline_job_id !== null) yield* jobs.cancel(row.deadline_job_id)
        const wait = yield* findWait("delegation_id", delegation.id)
        if (wait === undefined || wait.state !== "pending") return
        if (waitStateOf(delegation) === "cancelled") return yield* settleWait(wait, "cancelled")
        yield* jobs.enqueue({
          kind: wakeJobKind,
          subject: { type: "wait", id: wait.id },
          workspaceId: delegation.workspace_id,
          payload: { wait_id: wait.id },
          maxAttempts: 20
        })
      })

      return DelegationStore.of({
        find,
        list: fn("DelegationStore.list")(function* (sessionId, page) {
          const { before, limit } = yield* Keyset.descending(page)
          const rows = yield* db.all(sql<DelegationRow>`select ${columns} from delegations
          where session_id = ${sessionId} and id < ${before} order by id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toDelegation), limit, (delegation) => delegation.id)
        }),
        live: fn("DelegationStore.live")(function* (sessionId) {
          const rows = yield* db.all(sql<DelegationRow>`select ${columns} from delegations
          where session_id = ${sessionId} and state in ('pending', 'active', 'waiting_result') order by id`)
          return rows.map(toDelegation)
        }),
        readable,
        writable: fn("DelegationStore.writable")(function* (principal, id) {
          const delegation = yield* readable(principal, id)
          yield* access.write(principal, delegation.workspace_id)
          return (yield* lock(id)) ?? (yield* notFound())
        }),
        lock,
        insert: fn("DelegationStore.insert")(function* ({ brief, deadlineJobId, ...fields }, actor) {
          const at = yield* now
          const row: DelegationRow = {
            ...fields,
            brief: JSON.stringify(brief),
            state: "pending",
            reason: null,
            reason_message: null,
            deadline_job_id: deadlineJobId,
            version: 1,
            created_at: at,
            updated_at: at,
            finished_at: null,
            result_id: null
          }
          const { result_id: _, ...stored } = row
          yield* db.run(sql`insert into delegations ${sql.insert({ ...stored })}`)
          const delegation = toDelegation(row)
          yield* tell(delegation, actor, { type: "delegation.created", payload: payloadOf(delegation) })
          return delegation
        }),
        move: fn("DelegationStore.move")(function* (id, to, actor, why) {
          const row = yield* Effect.flatMap(findRow(id), (found) =>
            found === undefined ? Effect.dieMessage(`no delegation ${id}`) : Effect.succeed(found)
          )
          yield* Effect.orDie(delegationStates.check(row.state, to))
          const at = yield* now
          const change = {
            state: to,
            reason: why?.reason ?? null,
            reason_message: why?.message ?? null,
            version: row.version + 1,
            updated_at: at,
            finished_at: delegationStates.isTerminal(to) ? at : null
          }
          yield* db.run(sql`update delegations set ${sql.update(change)} where id = ${id}`)
          const delegation = toDelegation({ ...row, ...change })
          const type = eventOf[to]
          if (type !== null) yield* tell(delegation, actor, { type, payload: payloadOf(delegation) })
          if (delegationStates.isTerminal(to)) yield* conclude(row, delegation)
          yield* journal.ringAfterCommit(delegationTopic(id))
          return delegation
        }),
        tell,
        findResult: fn("DelegationStore.findResult")(function* (id) {
          const row = yield* db.first(sql<ResultRow>`select * from delegation_results where delegation_id = ${id}`)
          return row === undefined ? undefined : toResult(row)
        }),
        insertResult: fn("DelegationStore.insertResult")(function* (delegation, content, actor) {
          const row: ResultRow = {
            id: yield* newId(ResultId),
            delegation_id: delegation.id,
            content: JSON.stringify(content),
            author: JSON.stringify({ kind: actor.kind, id: actor.id }),
            created_at: yield* now
          }
          yield* db.run(sql`insert into delegation_results ${sql.insert({ ...row })}`)
          yield* tell(delegation, actor, {
            type: "delegation.result_published",
            payload: {
              result_id: row.id,
              kind: content.kind,
              verdict: content.verdict,
              changeset_id: content.changeset_id
            }
          })
          return toResult(row)
        }),
        keepWait: fn("DelegationStore.keepWait")(function* (delegationId) {
          const known = yield* findWait("delegation_id", delegationId)
          if (known !== undefined) return known
          const row: WaitRow = {
            id: yield* newId(WaitId),
            delegation_id: delegationId,
            state: "pending",
            created_at: yield* now
          }
          yield* db.run(sql`insert into delegation_waits ${sql.insert({ ...row })}`)
          return toWait(row)
        }),
        findWait: (id) => findWait("id", id),
        settleWait
      })
    })
  )
}

const payloadOf = ({ child_session_id, reason, reason_message, role, state }: Delegation) => ({
  state,
  role,
  child_session_id,
  reason,
  reason_message
})

/** Waiting for a result is told by the events of the child's turn. */
const eventOf = {
  pending: null,
  active: "delegation.active",
  waiting_result: null,
  succeeded: "delegation.succeeded",
  failed: "delegation.failed",
  cancelled: "delegation.cancelled"
} as const satisfies Record<DelegationState, DelegationEvent["type"] | null>

interface DelegationRow extends Omit<Delegation, keyof Brief> {
  readonly brief: string
  readonly deadline_job_id: JobId | null
}

interface ResultRow extends Pick<Result, "id" | "delegation_id" | "created_at"> {
  readonly content: string
  readonly author: string
}

interface WaitRow {
  readonly id: WaitId
  readonly delegation_id: DelegationId
  readonly state: WaitState
  readonly created_at: Timestamp
}

const toDelegation = ({ brief, deadline_job_id: _, ...row }: DelegationRow): Delegation => {
  const { instructions, result_schema, role }: Brief = JSON.parse(brief)
  return { ...row, role, instructions, result_schema }
}

const toResult = ({ author, content, ...row }: ResultRow): Result => {
  const parsed: ResultContent = JSON.parse(content)
  return { ...row, ...parsed, author: JSON.parse(author) }
}

const toWait = ({ created_at, delegation_id, id, state }: WaitRow): Wait => ({
  id,
  delegation_id,
  state,
  wake: "message",
  created_at
})
