import type { Fragment } from "@effect/sql/Statement"
import { type ChangesetId, newId, type SessionId, SnapshotId, type TurnId, type UploadId } from "@reins/base/domain/Ids"
import { fromMillis, now, type Timestamp, toMillis } from "@reins/base/domain/Timestamp"
import type { UploadPlace } from "@reins/base/domain/UploadPlace"
import { blobsOf, type SnapshotManifest } from "@reins/machine/bench/snapshots/SnapshotManifest"
import { Effect } from "effect"
import { JobStore } from "../../jobs/JobStore.js"
import { turnStates } from "../../sessions/rows/Turn.js"
import { newestTurn } from "../../sessions/turns/NewestTurn.js"
import type { BlobName } from "../../store/Blobs.js"
import { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import { sessionRows } from "../SessionRows.js"

/** The kind of the job that seals a session. */
export const sealJobKind = "session.seal"

/** A snapshot as it is stored. */
export interface SnapshotRow {
  readonly id: SnapshotId
  readonly session_id: SessionId
  readonly epoch: number
  readonly turn_id: TurnId | null
  readonly manifest: SnapshotManifest
  readonly created_at: Timestamp
}

/** A file that was uploaded since the newest snapshot, or an attachment, which no snapshot has. */
export interface UnsealedUpload {
  readonly upload_id: UploadId
  readonly path: string
  readonly place: UploadPlace
  /** Null for the usual permissions. */
  readonly mode: number | null
  readonly digest: string
}

/** A changeset that was captured since the newest snapshot. Its blob is a bundle of git, on top of the base of the session. */
export interface UnsealedChangeset {
  readonly changeset_id: ChangesetId
  readonly digest: string
}

/** Blobs that are kept on their own until a snapshot has them. */
export interface Apart {
  readonly uploads: ReadonlyArray<UnsealedUpload>
  readonly changesets: ReadonlyArray<UnsealedChangeset>
}

/** The sessions that have changed since their newest snapshot. */
export interface Unsealed {
  readonly sessions: number
  /** The time of the oldest change that no snapshot has; null without one. */
  readonly since: Timestamp | null
  /** Why the last attempt for one of them did not succeed; null when none has failed. */
  readonly error: string | null
}

const ended = turnStates.states.filter(turnStates.isTerminal)

/** A blob that nobody has used for so long, in milliseconds, may go when no snapshot needs it. It is longer than a seal can take. */
const unusedMs = 24 * 60 * 60_000

/** Writes of rows belong into a commit. */
const written = (effect: Effect.Effect<void>): Effect.Effect<void, never, Commit> => Effect.zipRight(Commit, effect)

/** The notes of what is not sealed yet. */
const unsealedRows = Effect.gen(function* () {
  const db = yield* Database
  const jobs = yield* JobStore
  const { sql } = db

  const enqueue = Effect.fnUntraced(function* (sessionId: SessionId) {
    const { job_id } = yield* jobs.enqueue({
      kind: sealJobKind,
      subject: { type: "session", id: sessionId },
      filesOf: sessionId,
      // Users of the API did not ask for it, and cannot do anything about it.
      workspaceId: null,
      payload: {},
      // A store of blobs may be away for days.
      maxAttempts: 1_000_000
    })
    yield* db.run(sql`update unsealed_sessions set job_id = ${job_id} where session_id = ${sessionId}`)
  })

  const note = Effect.fnUntraced(function* (sessionId: SessionId) {
    return yield* db.first(sql<{
      job_id: string | null
    }>`insert into unsealed_sessions (session_id, changes, since) values (${sessionId}, 1, ${yield* now})
      on conflict (session_id) do update set changes = unsealed_sessions.changes + 1 returning job_id`)
  })

  return {
    /** Notes in the commit that changes a session that its newest snapshot is old, and asks for another one. */
    changed: Effect.fnUntraced(function* (sessionId: SessionId) {
      const row = yield* note(sessionId)
      if (row?.job_id === null) yield* enqueue(sessionId)
    }),
    /** Notes the same of a session that the caller seals by itself. */
    aged: (sessionId: SessionId) => written(Effect.asVoid(note(sessionId))),
    /** Notes that the newest snapshot has everything up to a change, and what was kept apart until then. */
    settle: Effect.fnUntraced(function* (sessionId: SessionId, changes: number, { changesets, uploads }: Apart) {
      for (const { upload_id } of uploads)
        yield* db.run(sql`delete from unsealed_uploads
          where upload_id = ${upload_id} and place <> 'attachment'`)
      for (const { changeset_id } of changesets)
        yield* db.run(sql`delete from unsealed_changesets where changeset_id = ${changeset_id}`)
      yield* db.run(sql`delete from unsealed_sessions where session_id = ${sessionId} and changes = ${changes}`)
      // It has changed meanwhile, and the job of the earlier change ends with this snapshot.
      const left = yield* db.first(sql`update unsealed_sessions set job_id = null, error = null
        where session_id = ${sessionId} returning session_id`)
      if (left !== undefined) yield* enqueue(sessionId)
    }),
    /** Notes that a job has ended while the session is still unsealed. The next change asks for another one. */
    leave: (sessionId: SessionId, jobId: string) =>
      written(
        db.run(sql`update unsealed_sessions set job_id = null where session_id = ${sessionId} and job_id = ${jobId}`)
      ),
    /** Notes why a session could not be sealed. */
    failed: (sessionId: SessionId, error: string) =>
      written(db.run(sql`update unsealed_sessions set error = ${error} where session_id = ${sessionId}`)),
    /** The number of the newest change that no snapshot has; undefined when all are in one. */
    changesOf: (sessionId: SessionId) =>
      Effect.map(
        db.first(sql<{ changes: number }>`select changes from unsealed_sessions where session_id = ${sessionId}`),
        (row) => row?.changes
      ),
    /** The uploads, the attachments and the changesets that no snapshot has, oldest first. */
    apartOf: (sessionId: SessionId): Effect.Effect<Apart> =>
      Effect.all({
        uploads: db.all(sql<UnsealedUpload>`select upload_id, path, place, mode, digest from unsealed_uploads
          where session_id = ${sessionId} order by upload_id`),
        changesets: db.all(sql<UnsealedChangeset>`select changeset_id, digest from unsealed_changesets
          where session_id = ${sessionId} order by changeset_id`)
      }),
    /** Notes a changeset whose blob is stored. */
    noteChangeset: (sessionId: SessionId, changeset: UnsealedChangeset) =>
      written(db.run(sql`insert into unsealed_changesets ${sql.insert({ ...changeset, session_id: sessionId })}`)),
    /** Notes an upload whose blob is stored. */
    noteUpload: (sessionId: SessionId, upload: UnsealedUpload) =>
      written(db.run(sql`insert into unsealed_uploads ${sql.insert({ ...upload, session_id: sessionId })}`))
  }
})

/** The rows of blobs. A blob is announced before it is stored and condemned before it is deleted, so that both never meet. */
const blobRows = Effect.gen(function* () {
  const db = yield* Database
  const { sql } = db

  const condemnWhere = (meant: Fragment) =>
    db.run(sql`update snapshot_blobs set state = 'deleting' where ${meant} and state <> 'deleting'
      and not exists (select 1 from snapshot_parts where snapshot_parts.digest = snapshot_blobs.digest)
      and not exists (select 1 from unsealed_uploads where unsealed_uploads.digest = snapshot_blobs.digest)
      and not exists (select 1 from unsealed_changesets where unsealed_changesets.digest = snapshot_blobs.digest)`)
  const condemned = Effect.map(
    db.all(sql<{ digest: string }>`select digest from snapshot_blobs where state = 'deleting'`),
    (rows) => rows.map(({ digest }) => digest)
  )

  return {
    /** Announces blobs of a session before they are stored. False while one of them is being deleted. */
    announce: Effect.fnUntraced(function* (sessionId: SessionId, blobs: ReadonlyArray<BlobName>) {
      yield* Commit
      for (const { digest, size } of [...blobs].sort((one, other) => (one.digest < other.digest ? -1 : 1))) {
        const row = yield* db.first(sql`insert into snapshot_blobs (digest, size, state, used_at)
          values (${digest}, ${size}, 'storing', ${yield* now})
          on conflict (digest) do update set state = 'storing', used_at = excluded.used_at
            where snapshot_blobs.state <> 'deleting' returning digest`)
        if (row === undefined) return false
        yield* db.run(sql`insert into blob_sessions (session_id, digest) values (${sessionId}, ${digest})
          on conflict do nothing`)
      }
      return true
    }),
    /** Marks blobs that are stored. False when one of them is being deleted, which is then to be stored anew. */
    confirm: Effect.fnUntraced(function* (blobs: ReadonlyArray<BlobName>) {
      yield* Commit
      for (const digest of [...new Set(blobs.map((blob) => blob.digest))].sort()) {
        const row = yield* db.first(sql`update snapshot_blobs set state = 'stored', used_at = ${yield* now}
          where digest = ${digest} and state <> 'deleting' returning digest`)
        if (row === undefined) return false
      }
      return true
    }),
    /** Takes blobs that nothing needs out of use. Gives the digests of those that are to be deleted, which nobody reads or stores any more. */
    condemn: Effect.fnUntraced(function* () {
      yield* Commit
      const before = fromMillis(toMillis(yield* now) - unusedMs)
      yield* condemnWhere(sql`used_at < ${before}`)
      return yield* condemned
    }),
    /** The same for some blobs, at once, but for those that other sessions are storing. */
    condemnUnneeded: Effect.fnUntraced(function* (digests: ReadonlyArray<string>) {
      yield* Commit
      for (const digest of digests)
        yield* condemnWhere(sql`digest = ${digest} and not (snapshot_blobs.state = 'storing'
          and exists (select 1 from blob_sessions where blob_sessions.digest = snapshot_blobs.digest))`)
      return yield* condemned
    }),
    /** Forgets a blob that was deleted. */
    forget: (digest: string) =>
      written(
        Effect.zipRight(
          db.run(sql`delete from blob_sessions where digest = ${digest}
            and digest in (select digest from snapshot_blobs where state = 'deleting')`),
          db.run(sql`delete from snapshot_blobs where digest = ${digest} and state = 'deleting'`)
        )
      )
  }
})

/** The sessions that have changed since their newest snapshot. */
export const unsealedSessions = ({ first, sql }: Database["Type"]): Effect.Effect<Unsealed> =>
  Effect.map(
    first(sql<Unsealed>`select cast(count(*) as integer) as sessions, min(since) as since, max(error) as error
      from unsealed_sessions`),
    (row): Unsealed => row ?? { sessions: 0, since: null, error: null }
  )

/** The rows of snapshots. What is written requires `Commit`. */
export const snapshotStore = Effect.gen(function* () {
  const db = yield* Database
  const { sql } = db
  const blobs = yield* blobRows
  const unsealed = yield* unsealedRows

  return {
    ...blobs,
    ...unsealed,
    /**
     * Deletes the snapshots of a session, and what is stored for it apart. Takes its blobs out of use, but for those that something else needs. Gives
     * the digests of all blobs that are to be deleted.
     */
    forgetSession: Effect.fnUntraced(function* (sessionId: SessionId) {
      yield* Commit
      const needed = yield* db.all(sql<{ digest: string }>`select digest from blob_sessions
        where session_id = ${sessionId}`)
      for (const { of, table } of sessionRows)
        yield* db.run(sql`delete from ${sql.literal(table)} where ${of(sql, sessionId)}`)
      return yield* blobs.condemnUnneeded(needed.map(({ digest }) => digest))
    }),
    unsealed: unsealedSessions(db),
    /** The newest turn of a session that has ended; null without one. */
    lastTurn: (sessionId: SessionId) => newestTurn(db, sessionId, ended),
    /** The newest snapshot of a session. */
    newest: (sessionId: SessionId) =>
      Effect.map(
        db.first(sql<Omit<SnapshotRow, "manifest"> & { readonly manifest: string }>`select * from snapshots
          where session_id = ${sessionId} order by epoch desc, id desc limit 1`),
        (row): SnapshotRow | undefined => row && { ...row, manifest: JSON.parse(row.manifest) }
      ),
    /**
     * Writes a snapshot whose blobs are stored, in the place of the older ones of its session. `changes` and `apart` are what it has.
     * Undefined, and nothing is written, when one of the blobs is being deleted.
     */
    record: Effect.fnUntraced(function* (
      row: Pick<SnapshotRow, "session_id" | "epoch" | "turn_id" | "manifest">,
      changes: number,
      apart: Apart
    ) {
      const { manifest, session_id } = row
      const parts = blobsOf(manifest)
      if (!(yield* blobs.confirm(parts))) return undefined
      const id = yield* newId(SnapshotId)
      const created_at = yield* now
      const values = { ...row, id, created_at, manifest: JSON.stringify(manifest) }
      yield* db.run(sql`insert into snapshots ${sql.insert(values)}`)
      for (const digest of new Set(parts.map((part) => part.digest)))
        yield* db.run(sql`insert into snapshot_parts ${sql.insert({ snapshot_id: id, digest })}`)
      yield* db.run(sql`delete from snapshot_parts where snapshot_id in
        (select id from snapshots where session_id = ${session_id} and id <> ${id})`)
      yield* db.run(sql`delete from snapshots where session_id = ${session_id} and id <> ${id}`)
      yield* unsealed.settle(session_id, changes, apart)
      const stored: SnapshotRow = { ...row, id, created_at }
      return stored
    })
  }
})
