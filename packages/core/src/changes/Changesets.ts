import { Context, Effect, Layer } from "effect"
import { actorOf } from "../access/Access.js"
import type { ChangesetFiles, Diff } from "../api/ChangesApi.js"
import type { CaptureAnswer, ChangesetInput, LiveChanges } from "../api/SessionsApi.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { failpoint } from "../base/Failpoint.js"
import { fn } from "../base/Traced.js"
import type { ChangedFile, Changeset, ChangesetOrigin } from "../domain/Changeset.js"
import type { Actor, EventType } from "../domain/Event.js"
import { ChangesetId, newId, type SessionId, type TurnId } from "../domain/Ids.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { now } from "../domain/Timestamp.js"
import { Git } from "../git/Git.js"
import type { GitError } from "../git/GitError.js"
import { JobStore } from "../jobs/JobStore.js"
import { type SessionRow, SessionStore } from "../sessions/SessionStore.js"
import { turnActive } from "../sessions/Sessions.js"
import { WorkingTrees } from "../sessions/WorkingTrees.js"
import type { Command } from "../store/Command.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { existingOf } from "../store/Existing.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"

/** The kind of the job that captures on request; its payload is `{changeset_id}`. */
export const captureJobKind = "changeset.capture"

/** What a capture found. It is sealed by the git objects that it names, which are pinned before it is written. */
export interface Captured {
  readonly tree: string
  readonly subjectDigest: string
  readonly files: ReadonlyArray<ChangedFile>
  readonly additions: number
  readonly deletions: number
  readonly diagnostics: ReadonlyArray<string>
}

/** The work of a session, sealed: a tree against the base commit, with a digest of what changed. */
export class Changesets extends Context.Tag("@reins/core/changes/Changesets")<
  Changesets,
  {
    /** Newest first. */
    readonly list: (
      principal: Principal,
      sessionId: string,
      page: PageRequest
    ) => Effect.Effect<Page<Changeset>, ReinsError>
    readonly get: (principal: Principal, changesetId: string) => Effect.Effect<Changeset, ReinsError>
    /** Fails with `turn_active` during a turn and with `executor_unavailable` while there is no workspace. */
    readonly capture: (
      principal: Principal,
      sessionId: string,
      input: ChangesetInput
    ) => Command<CaptureAnswer, ReinsError>
    readonly diff: (
      principal: Principal,
      changesetId: string,
      view: { readonly path?: string; readonly context?: number }
    ) => Effect.Effect<Diff, ReinsError>
    readonly files: (
      principal: Principal,
      changesetId: string,
      path: string | undefined
    ) => Effect.Effect<ChangesetFiles, ReinsError>
    /** What differs from the base now; the last capture where no workspace is there. */
    readonly changes: (principal: Principal, sessionId: string) => Effect.Effect<LiveChanges, ReinsError>
    readonly find: (changesetId: string) => Effect.Effect<Changeset | undefined>
    readonly newestSealed: (sessionId: SessionId) => Effect.Effect<Changeset | undefined>
    /** Writes down a new changeset that is being captured. */
    readonly open: (
      id: ChangesetId,
      sessionId: SessionId,
      actor: Actor,
      from: { readonly origin: ChangesetOrigin; readonly label: string | null; readonly turnId: TurnId | null }
    ) => Effect.Effect<Changeset, never, Commit>
    /** Reads the workspace and pins what it holds. The caller keeps the workspace still. */
    readonly take: (session: SessionRow, changesetId: ChangesetId) => Effect.Effect<Captured, GitError>
    /** Seals an open changeset. */
    readonly seal: (changesetId: ChangesetId, captured: Captured, actor: Actor) => Effect.Effect<void, never, Commit>
    /** Ends an open changeset that could not be captured. */
    readonly fail: (changesetId: ChangesetId, reason: string, actor: Actor) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    Changesets,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const jobs = yield* JobStore
      const store = yield* SessionStore
      const trees = yield* WorkingTrees
      const git = yield* Git
      const { limits } = yield* CoreConfig
      const sql = db.sql

      const find = (id: string) =>
        Effect.map(db.first(sql<ChangesetRow>`select * from changesets where id = ${id}`), (row) =>
          row === undefined ? undefined : toChangeset(row)
        )
      const newestSealed = (sessionId: SessionId) =>
        Effect.map(
          db.first(
            sql<ChangesetRow>`select * from changesets where session_id = ${sessionId} and state = 'ready' order by id desc limit 1`
          ),
          (row) => (row === undefined ? undefined : toChangeset(row))
        )
      const existing = existingOf("changeset", find)
      const readable = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const changeset = yield* find(id)
        if (changeset === undefined) return yield* notFound()
        yield* store.readable(principal, changeset.session_id)
        return changeset
      })
      /** A sealed changeset, with where its objects are. */
      const sealed = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const changeset = yield* readable(principal, id)
        const { subject_digest: digest, tree } = changeset
        if (tree === null || digest === null) return yield* notReady(changeset)
        return { changeset, tree, digest, gitDir: trees.paths(changeset.session_id).gitDir }
      })
      const tell = (
        changeset: Changeset,
        type: EventType & `changeset.${string}`,
        actor: Actor,
        reason: string | null = null
      ) =>
        journal.append(changeset.session_id, actor, [
          {
            type,
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
          }
        ])

      /** A changeset is only said to come from a turn of its own session. */
      const requireTurn = Effect.fnUntraced(function* (sessionId: SessionId, id: TurnId | undefined) {
        if (id === undefined) return
        const turn = yield* db.first(sql`select id from turns where id = ${id} and session_id = ${sessionId}`)
        if (turn === undefined) return yield* notFound()
      })

      const open = Effect.fnUntraced(function* (
        id: ChangesetId,
        sessionId: SessionId,
        actor: Actor,
        from: { readonly origin: ChangesetOrigin; readonly label: string | null; readonly turnId: TurnId | null }
      ) {
        const session = yield* store.find(sessionId)
        yield* db.run(
          sql`insert into changesets ${sql.insert({
            id,
            session_id: sessionId,
            source_turn_id: from.turnId,
            label: from.label,
            origin: from.origin,
            state: "capturing",
            base_commit: session?.base_commit ?? null,
            files: "[]",
            additions: 0,
            deletions: 0,
            diagnostics: "[]",
            created_at: yield* now
          })}`
        )
        const changeset = yield* existing(id)
        yield* tell(changeset, "changeset.capture_requested", actor)
        return changeset
      })

      return Changesets.of({
        list: fn("Changesets.list")(function* (principal, sessionId, page) {
          const session = yield* store.readable(principal, sessionId)
          const { before, limit } = yield* Keyset.descending(page)
          const rows = yield* db.all(sql<ChangesetRow>`select * from changesets
          where session_id = ${session.id} and id < ${before} order by id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toChangeset), limit, (changeset) => changeset.id)
        }),
        get: readable,
        capture: (principal, sessionId, input) =>
          journal.command(
            "Changesets.capture",
            Effect.gen(function* () {
              const session = yield* store.writable(principal, sessionId)
              if (session.active_turn_id !== null) return yield* turnActive(session)
              if (session.workspace_state !== "ready") return yield* noWorkspace(session)
              yield* requireTurn(session.id, input.source_turn_id)
              const changeset = yield* open(yield* newId(ChangesetId), session.id, actorOf(principal), {
                origin: input.origin ?? "explicit",
                label: input.label ?? null,
                turnId: input.source_turn_id ?? null
              })
              const operation = yield* jobs.enqueue({
                kind: captureJobKind,
                subject: { type: "changeset", id: changeset.id },
                workspaceId: session.workspace_id,
                payload: { changeset_id: changeset.id },
                maxAttempts: 5
              })
              return {
                operation,
                changeset,
                event_watermark: yield* journal.append(session.id, actorOf(principal), [])
              }
            })
          ),
        diff: fn("Changesets.diff")(function* (principal, changesetId, view) {
          const { changeset, digest, gitDir, tree } = yield* sealed(principal, changesetId)
          const { diff, truncated } = yield* git
            .diff({ gitDir, base: changeset.base_commit, tree, ...view })
            .pipe(Effect.mapError(unreadable))
          const files =
            view.path === undefined ? changeset.files : changeset.files.filter((file) => file.path === view.path)
          return { diff, files, truncated, subject_digest: digest }
        }),
        files: fn("Changesets.files")(function* (principal, changesetId, path) {
          const { changeset, gitDir, tree } = yield* sealed(principal, changesetId)
          if (path === undefined) return { items: changeset.files }
          const blob = yield* git
            .readBlob({ gitDir, tree, path, maxBytes: limits.fileReadBytes })
            .pipe(Effect.mapError(unreadable))
          return { path, ...encoded(blob.bytes), size: blob.size, digest: blob.digest, truncated: blob.truncated }
        }),
        changes: fn("Changesets.changes")(function* (principal, sessionId) {
          const session = yield* store.readable(principal, sessionId)
          const at = yield* now
          if (session.workspace_state === "ready") {
            const { gitDir, workTree } = trees.paths(session.id)
            const live = yield* git
              .snapshot({ gitDir, workTree, base: session.base_commit, passing: true })
              .pipe(Effect.mapError(unreadable))
            return { live: true, base_commit: session.base_commit, observed_at: at, files: live.files }
          }
          const last = yield* newestSealed(session.id)
          return {
            live: false,
            base_commit: session.base_commit,
            observed_at: last?.sealed_at ?? at,
            files: last?.files ?? []
          }
        }),
        find,
        newestSealed,
        open,
        take: fn("Changesets.take")(function* (session, changesetId) {
          const { gitDir, workTree } = trees.paths(session.id)
          const base = session.base_commit
          const snapshot = yield* git.snapshot({ gitDir, workTree, base, message: `Capture ${changesetId}` })
          yield* failpoint("capture.tree_written")
          const { changes, commit, tree } = snapshot
          const [subject] = yield* Effect.all(
            [
              git.subject({ gitDir, base, tree, changes }),
              git.keep({ gitDir, ref: `changesets/${changesetId}`, commit })
            ],
            { concurrency: 2 }
          )
          yield* failpoint("capture.kept")
          return { ...snapshot, subjectDigest: subject.digest }
        }),
        seal: fn("Changesets.seal")(function* (changesetId, captured, actor) {
          const opened = yield* db.first(
            sql<{ id: string }>`update changesets set ${sql.update({
              state: "ready",
              tree: captured.tree,
              subject_digest: captured.subjectDigest,
              files: JSON.stringify(captured.files),
              additions: captured.additions,
              deletions: captured.deletions,
              diagnostics: JSON.stringify(captured.diagnostics),
              sealed_at: yield* now
            })} where id = ${changesetId} and state = 'capturing' returning id`
          )
          if (opened !== undefined) yield* tell(yield* existing(changesetId), "changeset.ready", actor)
        }),
        fail: fn("Changesets.fail")(function* (changesetId, reason, actor) {
          const opened = yield* db.first(sql<{ id: string }>`update changesets set state = 'failed',
          diagnostics = ${JSON.stringify([reason])} where id = ${changesetId} and state = 'capturing' returning id`)
          if (opened !== undefined) yield* tell(yield* existing(changesetId), "changeset.failed", actor, reason)
        })
      })
    })
  )
}

const notReady = (changeset: Changeset): ReinsError =>
  new ReinsError({
    code: "invalid_transition",
    message:
      changeset.state === "capturing"
        ? "The changeset is still being captured. Wait for the event changeset.ready."
        : "The capture of this changeset failed; its diagnostics say why. Capture a new one.",
    details: { resource: "changeset", from: changeset.state }
  })

/** The refusal of what needs the files of a session that has none yet. */
export const noWorkspace = (session: SessionRow): ReinsError =>
  new ReinsError({
    code: "executor_unavailable",
    message: "The session has no workspace yet. It is made by the first turn: send a message first.",
    details: { workspace: session.workspace_state }
  })

const unreadable = (error: GitError): ReinsError =>
  error.kind === "not_found"
    ? notFound()
    : new ReinsError({ code: "executor_unavailable", message: error.message, details: { kind: error.kind } })

const encoded = (bytes: Uint8Array): { readonly encoding: "utf-8" | "base64"; readonly content: string } => {
  try {
    return { encoding: "utf-8", content: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch {
    return { encoding: "base64", content: Buffer.from(bytes).toString("base64") }
  }
}

interface ChangesetRow extends Omit<Changeset, "files" | "diagnostics" | "empty" | "file_count"> {
  readonly files: string
  readonly diagnostics: string
}

const toChangeset = (row: ChangesetRow): Changeset => {
  const files: ReadonlyArray<ChangedFile> = JSON.parse(row.files)
  return {
    ...row,
    files,
    file_count: files.length,
    empty: row.state === "ready" && files.length === 0,
    diagnostics: JSON.parse(row.diagnostics)
  }
}
