import { execFileSync, spawnSync } from "node:child_process"
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { assert } from "@effect/vitest"
import { Git } from "@reins/core/git/Git"
import type { GitOptionsShape } from "@reins/core/git/GitOptions"
import { WayOut } from "@reins/core/outbound/WayOut"
import { Effect, Layer, type Scope } from "effect"

/** Git that may clone paths, and ask servers on loopback without TLS. */
export const gitLayerWith = (options: Partial<GitOptionsShape>) =>
  Git.layerWith({ allowFile: true, ...options }).pipe(
    Layer.provide(WayOut.layerWith({ allowPrivateHosts: ["127.0.0.1"] }))
  )

export const gitLayer = gitLayerWith({})

/** A folder that is removed with its scope. */
export const temporary: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-workspace-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const env = {
  PATH: process.env.PATH ?? "",
  HOME: "/nonexistent",
  LC_ALL: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "Ann",
  GIT_AUTHOR_EMAIL: "ann@example.com",
  GIT_COMMITTER_NAME: "Ann",
  GIT_COMMITTER_EMAIL: "ann@example.com"
}

/** Plain git, as a person or an agent would run it. */
export const plainGit = (cwd: string, ...args: ReadonlyArray<string>): string =>
  execFileSync("git", args, { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim()

export const plainGitWith = (extra: Readonly<Record<string, string>>, ...args: ReadonlyArray<string>): string =>
  execFileSync("git", args, { cwd: "/", env: { ...env, ...extra }, encoding: "utf8" }).trim()

export const put = (root: string, path: string, content: string | Uint8Array, mode = 0o644): void => {
  const target = join(root, path)
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, content)
  chmodSync(target, mode)
}

const makeRemote = (root: string, files: Readonly<Record<string, string>>): void => {
  const work = join(root, "remote-work")
  plainGit(root, "init", "--quiet", "--template=", "--bare", "--initial-branch=main", "remote.git")
  plainGit(root, "init", "--quiet", "--template=", "--initial-branch=main", work)
  for (const [path, content] of Object.entries(files)) put(work, path, content)
  plainGit(work, "add", "--all")
  plainGit(work, "commit", "--quiet", "--message=first")
  plainGit(work, "push", "--quiet", join(root, "remote.git"), "main")
}

/** The remotes that were made by their files, because git takes eight processes for each. */
const made = new Map<string, string>()
process.once("exit", () => {
  for (const root of made.values()) rmSync(root, { recursive: true, force: true })
})

/** A bare repository with one commit on `main` that holds `files`. */
export const bareRemote = (root: string, files: Readonly<Record<string, string>>): string => {
  const key = JSON.stringify(files)
  let template = made.get(key)
  if (template === undefined) {
    template = mkdtempSync(join(tmpdir(), "reins-remote-"))
    made.set(key, template)
    makeRemote(template, files)
  }
  cpSync(template, root, { recursive: true, preserveTimestamps: true })
  return join(root, "remote.git")
}

/** The commit of a branch of a bare repository, read from its files. A forge of a test is asked hundreds of times, and git would be a process each. */
export const branchHead = (bare: string, branch: string): string | undefined => {
  const ref = `refs/heads/${branch}`
  const own = textOf(join(bare, ref)).trim()
  if (own !== "") return own
  const packed = textOf(join(bare, "packed-refs")).split("\n")
  return packed.find((line) => line.endsWith(` ${ref}`))?.slice(0, -ref.length - 1)
}

/** The text of a file; empty for one that is not there. */
const textOf = (path: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return ""
  }
}

/** A new commit on the remote's branch, as if somebody else had pushed it. */
export const remoteCommit = (root: string, branch: string, path: string, content: string): string => {
  const bare = join(root, "remote.git")
  const other = mkdtempSync(join(root, "other-"))
  plainGit(root, "clone", "--quiet", bare, other)
  const known = plainGit(other, "ls-remote", "--heads", "origin", branch) !== ""
  plainGit(other, "checkout", "--quiet", ...(known ? [branch] : ["-b", branch]))
  put(other, path, content)
  plainGit(other, "add", "--all")
  plainGit(other, "commit", "--quiet", "--message=other")
  plainGit(other, "push", "--quiet", "origin", branch)
  return plainGit(other, "rev-parse", "HEAD")
}

/** A clone of a remote with `files`: its trusted directory, work tree and base commit. */
export const cloned = (files: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const git = yield* Git
    const root = yield* temporary
    const url = bareRemote(root, files)
    const gitDir = join(root, "trusted")
    const workTree = join(root, "work")
    const { commit } = yield* git.clone({ url, ref: null, gitDir, workTree })
    return { git, root, url, gitDir, workTree, base: commit }
  })

/** The numbers of /dev/zero and of a disk that does not exist. */
export const devices = { zero: ["c", "1", "5"], disk: ["b", "7", "200"] } as const

/** Puts devices into a folder, which only root may do. When it is impossible, the output of the test says so. */
export const plantDevices = (root: string): void => {
  for (const [name, numbers] of Object.entries(devices)) {
    const made = spawnSync("mknod", [join(root, name), ...numbers], { encoding: "utf8" })
    if (made.status === 0) continue
    const problem = `device files are NOT tested: ${made.error?.message ?? made.stderr.trim()}`
    if (process.env["REINS_TEST_DEVICES"] === "required") assert.fail(problem)
    process.stderr.write(`\n*** ${problem} ***\n\n`)
  }
}
