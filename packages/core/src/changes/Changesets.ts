import { CoreConfig } from "@reins/base/base/CoreConfig"
import { fn } from "@reins/base/base/Traced"
import type { Page, StatePageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { now } from "@reins/base/domain/Timestamp"
import { Bench } from "@reins/machine/bench/Bench"
import { Context, Effect, Layer } from "effect"
import type { Denied, Unseen } from "../access/Access.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { WorkingTrees } from "../worktrees/WorkingTrees.js"
import {
  type CaptureRefusal,
  captureCommand,
  changesUnreadable,
  generationGuard,
  type ReadFailure
} from "./CaptureCommand.js"
import type { CaptureAnswer, ChangesetInput, LiveChanges } from "./CapturesApi.js"
import { toChangesetFor } from "./ChangeRules.js"
import type { ChangesetFiles, Diff } from "./ChangesApi.js"
import type { ActionableChangeset, Changeset, ChangesetState } from "./Changeset.js"
import { ChangesetStore } from "./ChangesetStore.js"

/** A part of a change. `against` is the id of the changeset that it is compared with, in the place of the base commit. */
export interface DiffView {
  /** A file or folder, by its path before or after the change. */
  readonly path?: string
  /** Lines around each change. */
  readonly context?: number
  /** The id of another sealed changeset of the session. */
  readonly against?: string
}

/** The work of a session, sealed: a git tree on the base commit, with a digest of the change. A sealed changeset never changes. */
export class Changesets extends Context.Tag("@reins/core/changes/Changesets")<
  Changesets,
  {
    /** The changesets of a session, newest first, those whose capture failed too. A session that the principal may not see is `not_found`. */
    readonly list: (
      principal: Principal,
      sessionId: string,
      page: StatePageRequest<ChangesetState>
    ) => Effect.Effect<Page<ActionableChangeset>, Unseen | ReinsError<"invalid_cursor">>
    /** A changeset in any state. Fails with `not_found` unless the principal may see its session. */
    readonly get: (principal: Principal, changesetId: string) => Effect.Effect<ActionableChangeset, Unseen>
    /**
     * Asks for a capture of the workspace. Fails with `turn_active` while a turn runs, with `executor_unavailable` until the session has a
     * workspace, and with `invalid_transition` once that is removed. A turn of another session is `not_found`. Fails with `stale_subject`
     * for a workspace that does not hold the expected generation; one that changes before it is captured makes the changeset fail.
     */
    readonly capture: (
      principal: Principal,
      sessionId: string,
      input: ChangesetInput
    ) => Command<CaptureAnswer, Denied | ReinsError<CaptureRefusal>>
    /**
     * The change as a unified diff of git, whole or of one file or folder by its path before or after, with `context` lines around each change,
     * three unless it is given. A diff that is longer than `limits.diffBytes` is cut, and `omitted` says at which files. Fails with `invalid_transition` for a changeset that is not
     * sealed, and with `executor_unavailable` when the git objects of its session cannot be read. With `against` it is the change since another
     * sealed changeset of the session. Fails with `not_found` for one of another session.
     */
    readonly diff: (
      principal: Principal,
      changesetId: string,
      view: DiffView
    ) => Effect.Effect<Diff, ReadFailure | ReinsError<"invalid_transition">>
    /**
     * The changed files. With a path it is the content of that file after the change, in base64 where it is no UTF-8, cut after
     * `limits.fileReadBytes`. Fails as `diff` does, and with `not_found` for a path that the tree does not have. `against` is that of `diff`.
     */
    readonly files: (
      principal: Principal,
      changesetId: string,
      view: Pick<DiffView, "path" | "against">
    ) => Effect.Effect<ChangesetFiles, ReadFailure | ReinsError<"invalid_transition">>
    /**
     * The files that differ from the base commit now, also while a turn works on them. A session without a workspace answers with the files
     * of its newest sealed changeset, and `live` is false. Fails with `executor_unavailable` when the workspace cannot be read.
     */
    readonly changes: (principal: Principal, sessionId: string) => Effect.Effect<LiveChanges, ReadFailure>
  }
>() {
  static readonly layer = Layer.effect(
    Changesets,
    Effect.gen(function* () {
      const journal = yield* Journal
      const { limits } = yield* CoreConfig
      const sessions = yield* SessionStore
      const store = yield* ChangesetStore
      const bench = yield* Bench
      const trees = yield* WorkingTrees
      const capture = yield* captureCommand
      const requireGeneration = yield* generationGuard
      const changes = yield* changesRead

      const get = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const changeset = yield* store.find(id)
        if (changeset === undefined) return yield* notFound()
        const session = yield* sessions.readable(principal, changeset.session_id)
        return toChangesetFor(principal, session)(changeset)
      })
      /** A sealed changeset whose objects this machine has. */
      const sealed = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const changeset = yield* get(principal, id)
        const { subject_digest: digest, tree } = changeset
        if (tree === null || digest === null) return yield* notReady(changeset)
        yield* trees.requireOwned(changeset.session_id)
        return { changeset, tree, digest, session: changeset.session_id }
      })

      /** The commit, or the tree of another changeset, that a changeset is compared with. */
      const baseOf = Effect.fnUntraced(function* (principal: Principal, changeset: Changeset, against?: string) {
        if (against === undefined) return changeset.base_commit
        const other = yield* sealed(principal, against)
        return other.session === changeset.session_id ? other.tree : yield* notFound()
      })

      return Changesets.of({
        get,
        list: fn("Changesets.list")(function* (principal, sessionId, page) {
          const session = yield* sessions.readable(principal, sessionId)
          return Keyset.map(yield* store.list(session.id, page), toChangesetFor(principal, session))
        }),
        capture: (principal, sessionId, input) =>
          journal.prepared(
            "Changesets.capture",
            { by: principal, about: { type: "session", id: sessionId } },
            Effect.as(requireGeneration(principal, sessionId, input), capture(principal, sessionId, input))
          ),
        diff: fn("Changesets.diff")(function* (principal, changesetId, { against, ...view }) {
          const { digest, session, tree, ...subject } = yield* sealed(principal, changesetId)
          const base = yield* baseOf(principal, subject.changeset, against)
          const { diff, files, omitted, truncated } = yield* bench.changes
            .diff({ session, base, tree }, view)
            .pipe(Effect.mapError(changesUnreadable))
          return { diff, files, omitted, truncated, subject_digest: digest }
        }),
        files: fn("Changesets.files")(function* (principal, changesetId, { against, path }) {
          const { changeset, session, tree } = yield* sealed(principal, changesetId)
          const base = yield* baseOf(principal, changeset, against)
          if (path === undefined && against === undefined) return { items: changeset.files }
          if (path === undefined) {
            const { files } = yield* bench.changes
              .diff({ session, base, tree }, { context: 0 })
              .pipe(Effect.mapError(changesUnreadable))
            return { items: files }
          }
          const blob = yield* bench.changes
            .file(session, tree, path, limits.fileReadBytes)
            .pipe(Effect.mapError(changesUnreadable))
          return { path, ...encoded(blob.bytes), size: blob.size, digest: blob.digest, truncated: blob.truncated }
        }),
        changes
      })
    })
  )
}

/** The body of `Changesets.changes`. */
const changesRead = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const store = yield* ChangesetStore
  const bench = yield* Bench
  const trees = yield* WorkingTrees

  return fn("Changesets.changes")(function* (principal: Principal, sessionId: string) {
    const session = yield* sessions.readable(principal, sessionId)
    const at = yield* now
    if (session.tree.state === "ready") {
      yield* trees.requireOwned(session.id)
      const { files, tree } = yield* bench.changes
        .current(session.id, session.tree.base_commit)
        .pipe(Effect.mapError(changesUnreadable))
      return { live: true, generation: tree, base_commit: session.tree.base_commit, observed_at: at, files }
    }
    const last = yield* store.newestSealed(session.id)
    return {
      live: false,
      generation: last?.tree ?? null,
      base_commit: session.tree.base_commit,
      observed_at: last?.sealed_at ?? at,
      files: last?.files ?? []
    }
  })
})

const notReady = (changeset: Changeset): ReinsError<"invalid_transition"> =>
  new ReinsError({
    code: "invalid_transition",
    message:
      changeset.state === "capturing"
        ? "The changeset is still being captured. Wait for the event changeset.ready."
        : "The capture of this changeset failed; its diagnostics say why. Capture a new one.",
    details: { resource: "changeset", from: changeset.state }
  })

const encoded = (bytes: Uint8Array): { readonly encoding: "utf-8" | "base64"; readonly content: string } => {
  try {
    return { encoding: "utf-8", content: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch {
    return { encoding: "base64", content: Buffer.from(bytes).toString("base64") }
  }
}
