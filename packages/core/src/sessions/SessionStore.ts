import type { Fragment } from "@effect/sql/Statement"
import { Context, Effect, Layer } from "effect"
import { mayRead, mayWrite } from "../access/Access.js"
import { fn } from "../base/Traced.js"
import type { Role } from "../domain/Account.js"
import type {
  ConnectionId,
  DelegationId,
  LeaseId,
  ProjectId,
  ProjectVersionId,
  SessionId,
  TurnId,
  WorkspaceId
} from "../domain/Ids.js"
import type { Principal } from "../domain/Principal.js"
import type { ExecutorSelection } from "../domain/Project.js"
import { notFound, type ReinsError } from "../domain/ReinsError.js"
import type {
  LeaseState,
  LinkKind,
  Session,
  SessionActivity,
  SessionLifecycle,
  WorkspaceState
} from "../domain/Session.js"
import { now, type Timestamp } from "../domain/Timestamp.js"
import type { TurnState } from "../domain/Turn.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import type { Query } from "../store/Query.js"

/** A session as it is stored, with what its turns say of it. */
export interface SessionRow {
  readonly id: SessionId
  readonly workspace_id: WorkspaceId
  readonly project_id: ProjectId | null
  readonly project_version_id: ProjectVersionId | null
  readonly title: string | null
  readonly labels: string
  readonly provider_id: string
  readonly model: string | null
  readonly connection_id: ConnectionId | null
  readonly backend: ExecutorSelection["backend"]
  readonly lease_id: LeaseId | null
  readonly lease_state: LeaseState
  readonly lease_created_at: Timestamp | null
  readonly lease_used_at: Timestamp | null
  readonly workspace_state: WorkspaceState
  readonly repository: string | null
  readonly base_ref: string | null
  readonly base_commit: string | null
  readonly parent_session_id: SessionId | null
  readonly parent_delegation_id: DelegationId | null
  /** A `WorkspaceSeed` as JSON. */
  readonly seed: string | null
  readonly linked_from_session_id: SessionId | null
  readonly link_kind: LinkKind | null
  readonly native_session_id: string | null
  readonly native_digest: string | null
  readonly context_lost: number
  readonly auto_capture: number
  readonly lifecycle: SessionLifecycle
  readonly usage: string
  readonly event_watermark: number
  readonly message_count: number
  readonly turn_count: number
  readonly version: number
  readonly created_at: Timestamp
  readonly updated_at: Timestamp
  readonly archived_at: Timestamp | null
  readonly closed_at: Timestamp | null
  readonly active_turn_id: TurnId | null
  readonly active_turn_state: TurnState | null
  readonly queued_turns: number
  /** Interrupted turns that nobody has acknowledged yet. */
  readonly held_turns: number
}

/** What a session has to say before its first turn. */
const noTurns = { active_turn_id: null, active_turn_state: null, queued_turns: 0, held_turns: 0 }

/** The columns of a session that commands change. */
export type SessionChange = Partial<
  Pick<
    SessionRow,
    | "title"
    | "labels"
    | "model"
    | "backend"
    | "lease_id"
    | "lease_state"
    | "lease_created_at"
    | "lease_used_at"
    | "workspace_state"
    | "base_ref"
    | "base_commit"
    | "native_session_id"
    | "native_digest"
    | "context_lost"
    | "auto_capture"
    | "lifecycle"
    | "usage"
    | "archived_at"
    | "closed_at"
  >
>

/** The rows of sessions. Every other service of the room reads and writes them through here. */
export class SessionStore extends Context.Tag("@reins/core/sessions/SessionStore")<
  SessionStore,
  {
    readonly find: (sessionId: string) => Effect.Effect<SessionRow | undefined>
    /** Fails with `not_found` for a session that the principal may not see. */
    readonly readable: (principal: Principal, sessionId: string) => Effect.Effect<SessionRow, ReinsError<"not_found">>
    /** The row, held against other writers until the commit is through. */
    readonly lock: (sessionId: string) => Effect.Effect<SessionRow | undefined, never, Commit>
    /** `lock` for a principal that may change the session. */
    readonly writable: (
      principal: Principal,
      sessionId: string
    ) => Effect.Effect<SessionRow, ReinsError<"not_found" | "forbidden">, Commit>
    /** Adds a session, which has no turns yet, and gives back its row. */
    readonly insert: (columns: Omit<SessionRow, keyof typeof noTurns>) => Effect.Effect<SessionRow, never, Commit>
    readonly select: (where: Fragment) => Effect.Effect<ReadonlyArray<SessionRow>>
    /** Changes columns and the time of the update; `touch` also raises the version that clients see. */
    readonly change: (
      sessionId: SessionId,
      change: SessionChange,
      touch?: "touch"
    ) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    SessionStore,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const sql = db.sql
      const columns = sql.literal(`sessions.*, live.id as active_turn_id, live.state as active_turn_state,
      (select cast(count(*) as integer) from turns where session_id = sessions.id and state = 'queued') as queued_turns,
      (select cast(count(*) as integer) from turns where session_id = sessions.id and state = 'interrupted'
        and acknowledged_at is null) as held_turns`)
      // A session has one live turn at most.
      const joined = sql.literal(`sessions left join turns as live on live.session_id = sessions.id
        and live.state in ('preparing', 'running', 'requires_action', 'cancelling')`)

      const byId = db.prepare(
        (id: string) => sql<SessionRow>`select ${columns} from ${joined} where sessions.id = ${id}`
      )
      const byIdFor = db.prepare(
        (accountId: string, id: string) => sql<SessionRow & { readonly role: Role | null }>`select ${columns},
        (select role from workspace_members
          where workspace_id = sessions.workspace_id and account_id = ${accountId}) as role
        from ${joined} where sessions.id = ${id}`
      )
      const insertRow = db.prepareRow((row) => sql`insert into sessions ${sql.insert(row)}`)
      const holdRow = db.prepare((id: string) => sql`select id from sessions where id = ${id}${db.forUpdate}`)

      const find = (id: string) => db.first(byId(id))
      const held = <Row extends SessionRow>(id: string, query: Query<Row>) => {
        const row = Effect.tap(db.first(query), (row) => (row === undefined ? Effect.void : journal.hold(row)))
        // On PostgreSQL the row is locked first, so that the counts are read after the writer before has committed.
        return db.dialect === "pg" ? Effect.zipRight(db.run(holdRow(id)), row) : row
      }

      return SessionStore.of({
        find,
        lock: (sessionId) => held(sessionId, byId(sessionId)),
        readable: fn("SessionStore.readable")(function* (principal, sessionId) {
          const row = yield* db.first(byIdFor(principal.accountId, sessionId))
          if (row === undefined) return yield* notFound()
          yield* mayRead(principal, row.workspace_id, row.role)
          return row
        }),
        writable: fn("SessionStore.writable")(function* (principal, sessionId) {
          const row = yield* held(sessionId, byIdFor(principal.accountId, sessionId))
          if (row === undefined) return yield* notFound()
          yield* mayWrite(principal, row.workspace_id, row.role)
          return row
        }),
        insert: (row) =>
          db.run(insertRow({ ...row })).pipe(Effect.zipRight(journal.hold(row)), Effect.as({ ...row, ...noTurns })),
        select: (where) => db.all(sql<SessionRow>`select ${columns} from ${joined} where ${where}`),
        change: fn("SessionStore.change")(function* (sessionId, change, touch) {
          const at = yield* now
          const raise = sql.literal(touch === "touch" ? ", version = version + 1" : "")
          yield* db.run(
            sql`update sessions set ${sql.update({ ...change, updated_at: at })}${raise} where id = ${sessionId}`
          )
        })
      })
    })
  )
}

const activityOf = (row: SessionRow): SessionActivity => {
  if (row.held_turns > 0) return "attention"
  if (row.active_turn_state === "requires_action") return "requires_action"
  if (row.active_turn_state !== null) return "running"
  return row.queued_turns > 0 ? "queued" : "idle"
}

export const toSession = (row: SessionRow): Session => ({
  id: row.id,
  workspace_id: row.workspace_id,
  project_id: row.project_id,
  project_version_id: row.project_version_id,
  title: row.title,
  labels: JSON.parse(row.labels),
  harness: { provider_id: row.provider_id, model: row.model, connection_id: row.connection_id },
  executor: { backend: row.backend, state: row.lease_state, lease_id: row.lease_id },
  base: { repository: row.repository, ref: row.base_ref, commit: row.base_commit },
  workspace: { state: row.workspace_state },
  auto_capture: row.auto_capture === 1,
  lifecycle: row.lifecycle,
  activity: activityOf(row),
  active_turn_id: row.active_turn_id,
  linked_from_session_id: row.linked_from_session_id,
  link_kind: row.link_kind,
  parent_delegation_id: row.parent_delegation_id,
  usage: JSON.parse(row.usage),
  event_watermark: row.event_watermark,
  version: row.version,
  created_at: row.created_at,
  updated_at: row.updated_at,
  archived_at: row.archived_at,
  closed_at: row.closed_at
})

/** What the events of a session say of it. */
export const sessionPayload = (row: SessionRow) => ({
  lifecycle: row.lifecycle,
  title: row.title,
  labels: JSON.parse(row.labels),
  harness: { provider_id: row.provider_id, model: row.model },
  version: row.version
})
