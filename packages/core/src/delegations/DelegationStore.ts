import { fn } from "@reins/base/base/Traced"
import type { Actor, NewEvent } from "@reins/base/domain/Event"
import type { DelegationId, JobId, SessionId, TurnId } from "@reins/base/domain/Ids"
import type { Page, StatePageRequest } from "@reins/base/domain/Page"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { now } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { JobStore } from "../jobs/JobStore.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { ResultSchema } from "../sessions/rows/TurnResult.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { andState, stateList } from "../store/StateList.js"
import {
  type Delegation,
  type DelegationReason,
  type DelegationState,
  delegationStates,
  waitStateOf
} from "./Delegation.js"
import { WaitStore } from "./WaitStore.js"

/** The kind of the job that tells the delegating session of the end of a delegation; its payload is `{wait_id}`. */
export const wakeJobKind = "delegation.wake"

/** The topic that rings whenever a delegation moves. */
export const delegationTopic = (delegationId: string): string => `delegation:${delegationId}`

/** The columns that a new delegation starts with. */
export interface NewDelegation
  extends Pick<
    Delegation,
    "id" | "workspace_id" | "session_id" | "child_session_id" | "depth" | "changeset_id" | "deadline_at"
  > {
  readonly brief: Brief
  /** The job that ends the delegation at its deadline; null without one. */
  readonly deadlineJobId: JobId | null
  /** The turn whose agent delegates; null for any other caller. */
  readonly turnId: TurnId | null
}

/** The task of the child session. It never changes. */
export interface Brief {
  readonly role: string
  readonly instructions: string
  readonly result_schema: ResultSchema | null
}

/** A delegation and its child session. The commit keeps other writers from both. */
export interface HeldDelegation {
  readonly delegation: Delegation
  readonly child: SessionRow
}

/** The reason for the end of a delegation, and a sentence for people. */
export interface EndReason {
  readonly reason: DelegationReason
  readonly message: string
}

type DelegationEvent = Extract<NewEvent, { readonly type: `delegation.${string}` }>

/**
 * The rows of delegations, their states, and the events that tell of them. Writers exclude each other by the lock on the child session, so a
 * delegation has no lock of its own.
 */
export class DelegationStore extends Context.Tag("@reins/core/delegations/DelegationStore")<
  DelegationStore,
  {
    /** Reads a delegation without a check of access. */
    readonly find: (delegationId: string) => Effect.Effect<Delegation | undefined>
    /** The turn whose agent has delegated; undefined where another caller did. */
    readonly findTurn: (delegationId: string) => Effect.Effect<TurnId | undefined>
    /** The newest delegation of a session with a name. */
    readonly findNamed: (sessionId: SessionId, name: string) => Effect.Effect<Delegation | undefined>
    /** The number of delegations in the tree that a session belongs to. The commit holds the root of the tree, so nobody else adds one meanwhile. */
    readonly countTree: (session: SessionRow) => Effect.Effect<number, never, Commit>
    /** The delegations of a session, newest first. */
    readonly list: (
      sessionId: SessionId,
      page: StatePageRequest<DelegationState>
    ) => Effect.Effect<Page<Delegation>, ReinsError<"invalid_cursor">>
    /** The delegations of a session that have not ended, oldest first. */
    readonly live: (sessionId: SessionId) => Effect.Effect<ReadonlyArray<Delegation>>
    /** A delegation, held against other writers until the commit is through. */
    readonly lock: (delegationId: string) => Effect.Effect<HeldDelegation | undefined, never, Commit>
    /** Adds a pending delegation, tells it and gives it back. */
    readonly insert: (delegation: NewDelegation, actor: Actor) => Effect.Effect<Delegation, never, Commit>
    /**
     * Moves a delegation, tells it, and rings its topic. An end also takes back the deadline and enqueues the message of a lasting wait. The
     * commit holds the child session. Dies for a move that `delegationStates` does not draw.
     */
    readonly move: (
      delegationId: DelegationId,
      to: DelegationState,
      actor: Actor,
      why?: EndReason
    ) => Effect.Effect<Delegation, never, Commit>
    /** Tells the delegating session of something that leaves the delegation as it is, and gives back the watermark. */
    readonly tell: (
      delegation: Delegation,
      actor: Actor,
      event: DelegationEvent
    ) => Effect.Effect<number, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    DelegationStore,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const conclude = yield* makeConclude
      const sql = db.sql
      const columns = sql`delegations.*,
      (select id from delegation_results where delegation_id = delegations.id) as result_id`
      const ongoing = sql.literal(stateList(delegationStates.ongoing))

      const findRow = (id: string) => db.first(sql<DelegationRow>`select ${columns} from delegations where id = ${id}`)
      const existing = existingOf("delegation", findRow)
      const find = (id: string) => Effect.map(findRow(id), (row) => (row === undefined ? undefined : toDelegation(row)))
      const tell = (delegation: Delegation, actor: Actor, event: DelegationEvent) =>
        journal.append(delegation.session_id, actor, [{ ...event, subjects: { delegation_id: delegation.id } }])

      return DelegationStore.of({
        find,
        tell,
        findTurn: (id) => Effect.map(findRow(id), (row) => row?.turn_id ?? undefined),
        findNamed: fn("DelegationStore.findNamed")(function* (sessionId, name) {
          const rows = yield* db.all(sql<DelegationRow>`select ${columns} from delegations
            where session_id = ${sessionId} order by id desc`)
          return rows.map(toDelegation).find(({ role }) => role === name)
        }),
        countTree: fn("DelegationStore.countTree")(function* ({ id }) {
          const root = yield* db.first(sql<{ id: SessionId }>`with recursive above (id, parent) as (
              select id, parent_session_id from sessions where id = ${id}
              union all select sessions.id, sessions.parent_session_id from sessions join above on sessions.id = above.parent
            ) select id from above where parent is null`)
          if (root !== undefined && root.id !== id) yield* sessions.lock(root.id)
          const row = yield* db.first(sql<{ count: number }>`with recursive tree (id) as (
              select id from sessions where id = ${root?.id ?? id}
              union all select sessions.id from sessions join tree on sessions.parent_session_id = tree.id
            ) select cast(count(*) as integer) as count from delegations where session_id in (select id from tree)`)
          return row?.count ?? 0
        }),
        list: fn("DelegationStore.list")(function* (sessionId, page) {
          const { before, limit } = yield* Keyset.descending(page)
          const rows = yield* db.all(sql<DelegationRow>`select ${columns} from delegations
          where session_id = ${sessionId} and id < ${before} ${andState(db, page.state)} order by id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toDelegation), limit, (delegation) => delegation.id)
        }),
        live: fn("DelegationStore.live")(function* (sessionId) {
          const rows = yield* db.all(sql<DelegationRow>`select ${columns} from delegations
          where session_id = ${sessionId} and state in (${ongoing}) order by id`)
          return rows.map(toDelegation)
        }),
        lock: fn("DelegationStore.lock")(function* (id) {
          const unheld = yield* find(id)
          const child = unheld === undefined ? undefined : yield* sessions.lock(unheld.child_session_id)
          const delegation = yield* find(id)
          return delegation === undefined || child === undefined ? undefined : { delegation, child }
        }),
        insert: fn("DelegationStore.insert")(function* (delegation, actor) {
          const row = newRow(delegation, yield* now)
          yield* db.run(sql`insert into delegations ${sql.insert({ ...row })}`)
          const inserted = toDelegation({ ...row, result_id: null })
          yield* tell(inserted, actor, { type: "delegation.created", payload: payloadOf(inserted) })
          return inserted
        }),
        move: fn("DelegationStore.move")(function* (id, to, actor, why) {
          const row = yield* existing(id)
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
          const type = eventTypes[to]
          if (type !== null) yield* tell(delegation, actor, { type, payload: payloadOf(delegation) })
          if (delegationStates.isTerminal(to)) yield* conclude(delegation, row.deadline_job_id)
          yield* journal.ringAfterCommit(delegationTopic(id))
          return delegation
        })
      })
    })
  )
}

/** Removes the deadline of a delegation that has ended, and starts the message of its lasting wait. */
const makeConclude = Effect.gen(function* () {
  const jobs = yield* JobStore
  const waits = yield* WaitStore
  return Effect.fnUntraced(function* (delegation: Delegation, deadlineJobId: JobId | null) {
    if (deadlineJobId !== null) yield* jobs.cancel(deadlineJobId)
    const wait = yield* waits.findOf(delegation.id)
    if (wait === undefined || wait.state !== "pending") return
    if (waitStateOf(delegation) === "cancelled") return yield* waits.settle(wait, "cancelled")
    yield* jobs.enqueue({
      kind: wakeJobKind,
      subject: { type: "wait", id: wait.id },
      workspaceId: delegation.workspace_id,
      payload: { wait_id: wait.id },
      maxAttempts: 20
    })
  })
})

const payloadOf = ({ child_session_id, reason, reason_message, role, state }: Delegation) => ({
  state,
  role,
  child_session_id,
  reason,
  reason_message
})

/** The events of the child's turn tell that a result is awaited. */
const eventTypes = {
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
  readonly turn_id: TurnId | null
}

const newRow = (
  { brief, deadlineJobId, turnId, ...fields }: NewDelegation,
  at: Delegation["created_at"]
): Omit<DelegationRow, "result_id"> => ({
  ...fields,
  brief: JSON.stringify(brief),
  state: "pending",
  reason: null,
  reason_message: null,
  deadline_job_id: deadlineJobId,
  turn_id: turnId,
  version: 1,
  created_at: at,
  updated_at: at,
  finished_at: null
})

const toDelegation = ({ brief, deadline_job_id: _job, turn_id: _turn, ...row }: DelegationRow): Delegation => {
  const { instructions, result_schema, role }: Brief = JSON.parse(brief)
  return { ...row, role, instructions, result_schema }
}
