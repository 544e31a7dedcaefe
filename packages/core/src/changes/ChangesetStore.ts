import { fn } from "@reins/base/base/Traced"
import type { Actor, NewEvent } from "@reins/base/domain/Event"
import type { ChangesetId, SessionId, TurnId } from "@reins/base/domain/Ids"
import type { Page, StatePageRequest } from "@reins/base/domain/Page"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { now } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { andState } from "../store/StateList.js"
import type { CapturedTree } from "./Capture.js"
import {
  type ChangedFile,
  type Changeset,
  type ChangesetOrigin,
  type ChangesetState,
  changesetStates
} from "./Changeset.js"

/** The reason for a capture, its name for people, and the turn whose work it holds. */
export interface CaptureSource {
  readonly origin: ChangesetOrigin
  readonly label: string | null
  readonly turnId: TurnId | null
}

/** The rows of changesets, their states, and the events that tell of them. */
export class ChangesetStore extends Context.Tag("@reins/core/changes/ChangesetStore")<
  ChangesetStore,
  {
    /** Reads a changeset without a check of access. */
    readonly find: (changesetId: string) => Effect.Effect<Changeset | undefined>
    /** The changesets of a session, newest first. */
    readonly list: (
      sessionId: SessionId,
      page: StatePageRequest<ChangesetState>
    ) => Effect.Effect<Page<Changeset>, ReinsError<"invalid_cursor">>
    /** At most `limit` changesets of a session after the one of an id, oldest first. */
    readonly oldest: (sessionId: SessionId, after: string, limit: number) => Effect.Effect<ReadonlyArray<Changeset>>
    /** The paths (latin1) that the agent's git hid from the capture, though it may have another version of them. */
    readonly hidden: (id: ChangesetId) => Effect.Effect<ReadonlyArray<string>>
    /** The newest changeset of a session that is sealed. */
    readonly newestSealed: (sessionId: SessionId) => Effect.Effect<Changeset | undefined>
    /** Adds a changeset of a session that is being captured, on the base commit that the session has now. */
    readonly open: (
      id: ChangesetId,
      sessionId: SessionId,
      actor: Actor,
      from: CaptureSource
    ) => Effect.Effect<Changeset, never, Commit>
    /** Seals a changeset that is being captured. Dies for any other one. */
    readonly seal: (
      changesetId: ChangesetId,
      captured: CapturedTree,
      actor: Actor
    ) => Effect.Effect<void, never, Commit>
    /** Ends a changeset that could not be captured; its diagnostics hold the reason. Dies unless it is being captured. */
    readonly fail: (changesetId: ChangesetId, reason: string, actor: Actor) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    ChangesetStore,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const sql = db.sql

      const tell = (row: ChangesetRow, actor: Actor, reason: string | null = null) =>
        journal.append(row.session_id, actor, [eventOf(toChangeset(row), reason)])

      /** Moves a changeset to an end, and tells it. */
      const end = Effect.fnUntraced(function* (
        id: ChangesetId,
        change: Partial<ChangesetRow> & { readonly state: ChangesetState },
        actor: Actor,
        reason: string | null
      ) {
        const row = yield* db.first(sql<ChangesetRow>`select * from changesets where id = ${id}${db.forUpdate}`)
        if (row === undefined) return yield* Effect.dieMessage(`no changeset ${id}`)
        yield* Effect.orDie(changesetStates.check(row.state, change.state))
        yield* db.run(sql`update changesets set ${sql.update({ ...change })} where id = ${id}`)
        yield* tell({ ...row, ...change }, actor, reason)
      })

      return ChangesetStore.of({
        find: (id) =>
          Effect.map(db.first(sql<ChangesetRow>`select * from changesets where id = ${id}`), toChangesetOrNone),
        list: fn("ChangesetStore.list")(function* (sessionId, page) {
          const { before, limit } = yield* Keyset.descending(page)
          const rows = yield* db.all(sql<ChangesetRow>`select * from changesets
            where session_id = ${sessionId} and id < ${before} ${andState(db, page.state)} order by id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toChangeset), limit, (changeset) => changeset.id)
        }),
        oldest: (sessionId, after, limit) =>
          Effect.map(
            db.all(sql<ChangesetRow>`select * from changesets where session_id = ${sessionId} and id > ${after}
              order by id limit ${limit}`),
            (rows) => rows.map(toChangeset)
          ),
        hidden: (id) =>
          Effect.map(
            db.first(sql<Pick<ChangesetRow, "hidden">>`select hidden from changesets where id = ${id}`),
            (row) => (row?.hidden === undefined || row.hidden === null ? [] : JSON.parse(row.hidden))
          ),
        newestSealed: (sessionId) =>
          Effect.map(
            db.first(sql<ChangesetRow>`select * from changesets where session_id = ${sessionId} and state = 'ready'
              order by id desc limit 1`),
            toChangesetOrNone
          ),
        open: fn("ChangesetStore.open")(function* (id, sessionId, actor, from) {
          const session = yield* sessions.find(sessionId)
          const row: ChangesetRow = {
            id,
            session_id: sessionId,
            source_turn_id: from.turnId,
            label: from.label,
            origin: from.origin,
            state: "capturing",
            base_commit: session?.tree.base_commit ?? null,
            tree: null,
            subject_digest: null,
            additions: 0,
            deletions: 0,
            files: "[]",
            diagnostics: "[]",
            hidden: null,
            created_at: yield* now,
            sealed_at: null
          }
          yield* db.run(sql`insert into changesets ${sql.insert({ ...row })}`)
          yield* tell(row, actor)
          return toChangeset(row)
        }),
        seal: fn("ChangesetStore.seal")(function* (id, captured, actor) {
          const sealed = {
            state: "ready" as const,
            tree: captured.tree,
            subject_digest: captured.subjectDigest,
            files: JSON.stringify(captured.files),
            additions: captured.additions,
            deletions: captured.deletions,
            diagnostics: JSON.stringify(captured.diagnostics),
            hidden: captured.hidden.length === 0 ? null : JSON.stringify(captured.hidden),
            sealed_at: yield* now
          }
          yield* end(id, sealed, actor, null)
          yield* captured.kept
        }),
        fail: (id, reason, actor) => end(id, { state: "failed", diagnostics: JSON.stringify([reason]) }, actor, reason)
      })
    })
  )
}

const eventTypes = {
  capturing: "changeset.capture_requested",
  ready: "changeset.ready",
  failed: "changeset.failed"
} as const satisfies Record<ChangesetState, NewEvent["type"]>

const eventOf = (changeset: Changeset, reason: string | null): NewEvent => ({
  type: eventTypes[changeset.state],
  payload: {
    state: changeset.state,
    origin: changeset.origin,
    subject_digest: changeset.subject_digest,
    empty: changeset.empty,
    file_count: changeset.file_count,
    additions: changeset.additions,
    deletions: changeset.deletions,
    reason
  },
  subjects: {
    changeset_id: changeset.id,
    ...(changeset.source_turn_id !== null && { turn_id: changeset.source_turn_id })
  }
})

interface ChangesetRow extends Omit<Changeset, "files" | "diagnostics" | "empty" | "file_count"> {
  readonly files: string
  readonly diagnostics: string
  readonly hidden: string | null
}

const toChangeset = ({ hidden: _, ...row }: ChangesetRow): Changeset => {
  const files: ReadonlyArray<ChangedFile> = JSON.parse(row.files)
  return {
    ...row,
    files,
    file_count: files.length,
    empty: row.state === "ready" && files.length === 0,
    diagnostics: JSON.parse(row.diagnostics)
  }
}

const toChangesetOrNone = (row: ChangesetRow | undefined): Changeset | undefined =>
  row === undefined ? undefined : toChangeset(row)
