import type { Fragment } from "@effect/sql/Statement"
import { fn } from "@reins/base/base/Traced"
import type { Actor, EventType } from "@reins/base/domain/Event"
import type { SessionId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import type { Role } from "@reins/base/domain/Role"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { type Denied, mayRead, mayWrite, type Unseen } from "../../access/Access.js"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import { existingOf } from "../../store/Existing.js"
import { Journal } from "../../store/Journal.js"
import type { Query } from "../../store/Query.js"
import { searchIndex } from "./SearchIndex.js"
import { addUsage, noUsageStored, type SessionLifecycle, sessionStates, type Usage, usageOf } from "./Session.js"
import { sessionLabels } from "./SessionLabels.js"
import type { NewSession, SeenSession, SessionRow, SessionUpdate } from "./SessionRow.js"
import * as SessionStatements from "./SessionStatements.js"

/**
 * The rows of sessions, their lifecycle, and the events that tell of them. A session is read together with its lease, its files and the
 * memory of its agent, which their own stores in `worktrees` change.
 */
export class SessionStore extends Context.Tag("@reins/core/sessions/SessionStore")<
  SessionStore,
  {
    /** The session as it stands, held by nobody; undefined when there is none. */
    readonly find: (sessionId: string) => Effect.Effect<SessionRow | undefined>
    /**
     * The session, for a principal that may see it. The role of the principal comes in the same statement, which is why these two methods of
     * the store know principals.
     */
    readonly readable: (principal: Principal, sessionId: string) => Effect.Effect<SeenSession, Unseen>
    /** `lock` for a principal that may change the session. */
    readonly writable: (principal: Principal, sessionId: string) => Effect.Effect<SeenSession, Denied, Commit>
    /** The session, kept from other writers until the commit is through. */
    readonly lock: (sessionId: string) => Effect.Effect<SessionRow | undefined, never, Commit>
    /** The sessions that a condition, with its order and limit, selects. The tables that it is about are `sessions` where none are given. */
    readonly select: (selection: {
      readonly from?: Fragment
      readonly where: Fragment
    }) => Effect.Effect<ReadonlyArray<SessionRow>>
    /** Adds an open session, tells `session.created`, and gives back its row. */
    readonly insert: (columns: NewSession, actor: Actor) => Effect.Effect<SessionRow, never, Commit>
    /** Changes what clients see, raises the version, and tells `session.updated`. The commit holds the session. */
    readonly update: (row: SessionRow, update: SessionUpdate, actor: Actor) => Effect.Effect<SessionRow, never, Commit>
    /** Moves the lifecycle, raises the version, and tells it. The commit holds the session. */
    readonly move: (
      row: SessionRow,
      to: SessionLifecycle,
      actor: Actor
    ) => Effect.Effect<SessionRow, ReinsError<"invalid_transition">, Commit>
    /** Chooses another executor, and raises the version. The commit holds the session, which has no lease. */
    readonly chooseBackend: (
      sessionId: SessionId,
      backend: SessionRow["executor"]["backend"]
    ) => Effect.Effect<void, never, Commit>
    /** Notes that something of the session has changed now. */
    readonly touch: (sessionId: SessionId) => Effect.Effect<void, never, Commit>
    /** Adds the usage of a turn to that of its session, which the commit holds. */
    readonly addUsage: (row: SessionRow, usage: Usage) => Effect.Effect<void, never, Commit>
    /** Counts one turn more, and gives back the number of turns. The commit holds the session. */
    readonly countTurn: (sessionId: SessionId) => Effect.Effect<number, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    SessionStore,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const sql = db.sql
      const rows = yield* SessionStatements.make
      const labels = yield* sessionLabels
      const search = yield* searchIndex

      const held = <Row extends SessionStatements.StoredSession>(id: string, query: Query<Row>) => {
        const row = Effect.tap(db.first(query), (row) => (row === undefined ? Effect.void : journal.hold(row)))
        // On PostgreSQL the row is locked first, so that the counts are read after the writer before has committed.
        return db.dialect === "pg" ? Effect.zipRight(db.run(rows.hold(id)), row) : row
      }

      const { changed, write } = yield* makeWrites(rows.find)
      const seen = (row: SessionStatements.StoredSession, role: Role | null) =>
        role === null ? notFound() : Effect.succeed(SessionStatements.toSeenSession(row, role))

      return SessionStore.of({
        find: rows.find,
        readable: fn("SessionStore.readable")(function* (principal, sessionId) {
          const row = yield* db.first(rows.byIdFor(principal.accountId, sessionId))
          if (row === undefined || row.deleting_at !== null) return yield* notFound()
          yield* mayRead(principal, row.workspace_id, [row.id, row.parent_session_id], row.role)
          return yield* seen(row, row.role)
        }),
        writable: fn("SessionStore.writable")(function* (principal, sessionId) {
          const row = yield* held(sessionId, rows.byIdFor(principal.accountId, sessionId))
          if (row === undefined || row.deleting_at !== null) return yield* notFound()
          yield* mayWrite(principal, row.workspace_id, [row.id, row.parent_session_id], row.role)
          return yield* seen(row, row.role)
        }),
        lock: (sessionId) =>
          Effect.map(held(sessionId, rows.byId(sessionId)), (row) =>
            row === undefined ? undefined : SessionStatements.toSessionRow(row)
          ),
        select: rows.select,
        insert: fn("SessionStore.insert")(function* (columns, actor) {
          const row = begun(columns)
          yield* rows.insert(row)
          yield* labels.add(row)
          yield* search.addTitle(row, row.title)
          const { event_watermark, id, workspace_id } = row
          const log = { id, workspace_id, event_watermark, message_count: 0 }
          yield* journal.begin(log, actor, [{ type: "session.created", payload: payloadOf(row) }])
          return row
        }),
        update: fn("SessionStore.update")(function* (row, { git_connection, repository, ...update }, actor) {
          if (update.labels !== undefined) yield* labels.replace({ ...row, labels: update.labels })
          const place = {
            ...(repository !== undefined && { repository }),
            ...(git_connection !== undefined && { git_connection })
          }
          if (Object.keys(place).length > 0) yield* rows.readdress(row.id, place)
          if (update.title !== undefined) yield* search.replaceTitle(row, update.title)
          return yield* changed(row.id, update, actor, "session.updated")
        }),
        move: fn("SessionStore.move")(function* (row, to, actor) {
          yield* sessionStates.check(row.lifecycle, to)
          const at = yield* now
          return yield* changed(row.id, { lifecycle: to, ...timesOf(to, at) }, actor, lifecycleEvents[to])
        }),
        chooseBackend: (id, backend) => write(id, { backend }, "touch"),
        touch: (id) => write(id, {}),
        addUsage: (row, usage) => write(row.id, { usage: JSON.stringify(addUsage(usageOf(row.usage), usage)) }),
        countTurn: fn("SessionStore.countTurn")(function* (id) {
          const counted = yield* db.first(sql<{ turn_count: number }>`update sessions set turn_count = turn_count + 1
            where id = ${id} returning turn_count`)
          return counted?.turn_count ?? (yield* Effect.dieMessage(`no session ${id}`))
        })
      })
    })
  )
}

/** The changes of rows, with the events that tell of them. */
const makeWrites = Effect.fnUntraced(function* (find: SessionStore["Type"]["find"]) {
  const db = yield* Database
  const journal = yield* Journal
  const sql = db.sql
  const existing = existingOf("session", find)

  const write = Effect.fnUntraced(function* (id: SessionId, columns: Partial<Columns>, touch?: "touch") {
    const at = yield* now
    const raise = sql.literal(touch === "touch" ? ", version = version + 1" : "")
    yield* db.run(sql`update sessions set ${sql.update({ ...columns, updated_at: at })}${raise} where id = ${id}`)
  })

  /** Tells an event of a session, and gives back the row with the new watermark. */
  const told = (row: SessionRow, actor: Actor, type: SessionEventType) =>
    Effect.map(
      journal.append(row.id, actor, [{ type, payload: payloadOf(row) }]),
      (event_watermark): SessionRow => ({ ...row, event_watermark })
    )

  const changed = Effect.fnUntraced(function* (
    id: SessionId,
    columns: Partial<Columns>,
    actor: Actor,
    type: SessionEventType
  ) {
    yield* write(id, columns, "touch")
    return yield* told(yield* existing(id), actor, type)
  })

  return { changed, write }
})

type SessionEventType = Exclude<
  EventType & `session.${string}`,
  "session.linked" | "session.deleted" | "session.shared" | "session.unshared"
>

/** The event of each lifecycle that a session moves to. */
const lifecycleEvents = {
  open: "session.unarchived",
  archived: "session.archived",
  closed: "session.closed"
} as const satisfies Record<SessionLifecycle, SessionEventType>

const timesOf = (to: SessionLifecycle, at: Timestamp): Partial<Pick<SessionRow, "archived_at" | "closed_at">> => {
  if (to === "closed") return { closed_at: at }
  return { archived_at: to === "archived" ? at : null }
}

/** The columns of `sessions` that change. */
type Columns = Pick<
  SessionStatements.StoredSession,
  (keyof SessionStatements.StoredSession & keyof SessionRow) | "backend"
>

/** A session that was just made. Budgets above it are looked up. Each member is named, because a spread of so many costs as much as an insert. */
const begun = (session: NewSession): SessionRow => ({
  id: session.id,
  workspace_id: session.workspace_id,
  project: session.project,
  title: session.title,
  labels: session.labels,
  provider_id: session.provider_id,
  model: session.model,
  connection_id: session.connection_id,
  options: session.options,
  permissions: session.permissions,
  auto_capture: session.auto_capture,
  lineage: session.lineage,
  created_at: session.created_at,
  executor: { ...session.executor, lease: null },
  tree: { state: "none", ...session.tree },
  agent: {
    native_session_id: null,
    native_candidate: null,
    native_digest: null,
    native_paths: null,
    native_cost: null,
    context_lost: 0
  },
  turns: { active: null, queued: 0, held: 0 },
  budgets: { own: null, any: 1 },
  lifecycle: "open",
  usage: noUsageStored,
  // The first event tells that the session was made.
  event_watermark: 1,
  version: 1,
  updated_at: session.created_at,
  archived_at: null,
  closed_at: null
})

/** The session as its events tell of it. */
const payloadOf = (row: Pick<SessionRow, "labels" | "lifecycle" | "model" | "provider_id" | "title" | "version">) => ({
  lifecycle: row.lifecycle,
  title: row.title,
  labels: JSON.parse(row.labels),
  harness: { provider_id: row.provider_id, model: row.model },
  version: row.version
})
