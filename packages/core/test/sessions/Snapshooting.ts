import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import type { Bell } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { Snapshots } from "@reins/core/worktrees/snapshots/Snapshots"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { bareRemote, put } from "@reins/testing/git/Fixture"
import { listingOf } from "@reins/testing/sessions/Listing"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { Effect, Layer, Logger, LogLevel, type Scope } from "effect"
import { temporaryDirectory } from "../execution/Agent.js"

/** Every service on a database, with a directory for blobs. */
export const withSnapshots = (database: Layer.Layer<Database | Bell>) =>
  Layer.unwrapScoped(
    Effect.map(temporaryDirectory, (path) =>
      services(database, {
        allowLocalRepositories: true,
        allowPrivateHosts: ["127.0.0.1"],
        blobs: { kind: "directory", path: join(path, "blobs") }
      })
    )
  ).pipe(Layer.provide(Logger.minimumLogLevel(LogLevel.Error)))

/** The words of the agent's own repository about itself, as the agent would ask for them. */
export const repositoryOf = (workTree: string): string =>
  [
    ["log", "--all", "--format=%H %s %D"],
    ["stash", "list"],
    ["status", "--porcelain=v1", "--branch"],
    ["config", "--list", "--local"],
    ["fsck", "--connectivity-only"]
  ]
    .map((args) => askGit(workTree, args).toString())
    .join("\n---\n")

const askGit = (workTree: string, args: ReadonlyArray<string>): Buffer =>
  execFileSync("git", args, {
    cwd: workTree,
    env: { PATH: process.env["PATH"], HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" },
    stdio: ["ignore", "pipe", "ignore"]
  })

/** A session with its files, and what is done with it. */
export const sealedSession = Effect.fnUntraced(function* (
  files: Readonly<Record<string, string>> | null,
  /** The address of the repository, which is at a path of this machine. */
  urlOf: (path: string) => Effect.Effect<string, never, Scope.Scope> = Effect.succeed,
  /** The folders of the repository that the workspace holds; null for all. */
  sparse: ReadonlyArray<string> | null = null
) {
  const root = yield* temporaryDirectory
  const { principal, workspaceId } = yield* ownerWithConnection
  const repository =
    files === null ? {} : { repository: { url: yield* urlOf(bareRemote(root, files)), ...(sparse && { sparse }) } }
  const { id } = yield* (yield* Sessions).create(principal, workspaceId, { ...repository, prewarm: false })
  const trees = yield* WorkingTrees
  const journal = yield* Journal
  const snapshots = yield* Snapshots
  yield* trees.make(id)
  const paths = yield* pathsOf(id)
  const change = journal.commit(snapshots.changed(id))
  const db = yield* Database
  return {
    id,
    principal,
    root,
    paths,
    snapshots,
    db,
    files: yield* SessionFiles,
    row: Effect.flatMap(SessionStore, (store) => store.find(id)),
    change,
    /** The directory of the blobs. */
    store: yield* Effect.map(CoreConfig, ({ blobs }) => (blobs?.kind === "directory" ? blobs.path : "")),
    /** Notes a change and seals it. */
    seal: Effect.zipRight(change, trees.exclusive(id, snapshots.seal(id))),
    /** Takes everything of the session from the disk. */
    lose: Effect.sync(() => fs.rmSync(paths.root, { recursive: true, force: true })),
    restore: snapshots.restore(id),
    manifest: Effect.map(
      db.first(db.sql<{ manifest: string }>`select manifest from snapshots where session_id = ${id}`),
      (row) => JSON.parse(row?.manifest ?? "null")
    )
  }
})

/** The agent's git, in its workspace. */
export const agentGit = (workTree: string, ...args: ReadonlyArray<string>): void => void askGit(workTree, args)

export { listingOf, put }
