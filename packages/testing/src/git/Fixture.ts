import { execFileSync, spawnSync } from "node:child_process"
import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { assert } from "@effect/vitest"
import { Git } from "@reins/machine/git/Git"
import { WayOut } from "@reins/machine/outbound/WayOut"
import type { GitOptionsShape } from "@reins/machine/repository/run/GitOptions"
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
  GIT_COMMITTER_EMAIL: "ann@example.com",
  // A commit would start one more process, which finds that there is nothing to tidy up.
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "maintenance.auto",
  GIT_CONFIG_VALUE_0: "false"
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

/** The commit is made in the remote itself: a repository that pushes to it would be ten processes more. */
const makeRemote = (root: string, files: Readonly<Record<string, string>>): void => {
  const [bare, work] = [join(root, "remote.git"), join(root, "remote-work")]
  plainGit(root, "init", "--quiet", "--template=", "--bare", "--initial-branch=main", bare)
  mkdirSync(work)
  for (const [path, content] of Object.entries(files)) put(work, path, content)
  const inBoth = [`--git-dir=${bare}`, `--work-tree=${work}`]
  plainGit(root, ...inBoth, "add", "--all")
  plainGit(root, ...inBoth, "-c", "core.logAllRefUpdates=false", "commit", "--quiet", "--message=first")
  for (const left of ["index", "COMMIT_EDITMSG"]) rmSync(join(bare, left), { force: true })
  rmSync(work, { recursive: true })
  // Each push would start a process that finds nothing to tidy up.
  appendFileSync(join(bare, "config"), "[receive]\n\tautogc = false\n")
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

/** The branches of a bare repository with their commits, read from its files too. */
export const branchHeads = (bare: string): ReadonlyArray<readonly [string, string]> => {
  const heads = "refs/heads/"
  const loose = readdirSync(join(bare, heads), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".lock"))
    .map((entry) => relative(join(bare, heads), join(entry.parentPath, entry.name)))
  const packed = textOf(join(bare, "packed-refs"))
    .split("\n")
    .flatMap((line) => (line.includes(` ${heads}`) ? [line.slice(line.indexOf(heads) + heads.length)] : []))
  return [...new Set([...loose, ...packed])].flatMap((branch) => {
    const head = branchHead(bare, branch)
    return head === undefined ? [] : [[branch, head] as const]
  })
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
export const remoteCommit = (root: string, branch: string, path: string, content: string): string =>
  bareCommit(join(root, "remote.git"), branch, path, content)

/** The same on a branch of a bare repository. An absent branch is made from `main`. It is one process, where a clone and a push are twenty. */
export const bareCommit = (bare: string, branch: string, path: string, content: string): string => {
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`
  const parent = branchHead(bare, branch) ?? branchHead(bare, "main")
  const commit = `commit refs/heads/${branch}\ncommitter Ann <ann@example.com> now\n${data(path)}from ${parent}\n`
  execFileSync("git", ["-c", "fastimport.unpackLimit=1", "fast-import", "--quiet", "--date-format=now"], {
    cwd: bare,
    env,
    input: `${commit}M 100644 inline ${path}\n${data(content)}`
  })
  return branchHead(bare, branch) ?? ""
}

/** A clone of a remote with `files`: its trusted directory, work tree and base commit. */
export const cloned = (files: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const git = yield* Git
    const root = yield* temporary
    const url = bareRemote(root, files)
    const { commit } = yield* git.clone({ url, ref: null, ...inside(root) })
    return { git, root, url, ...inside(root), base: commit }
  })

/** The clones that were made of their files, because git takes a dozen processes for each. */
const clones = new Map<string, { readonly place: string; readonly base: string | null }>()
process.once("exit", () => {
  for (const { place } of clones.values()) rmSync(place, { recursive: true, force: true })
})

/** The same as `cloned`, as a copy of the clone that this process has made first of these files. It has the folders of `sparse` only, or all. */
export const clonedOnce = (files: Readonly<Record<string, string>>, sparse?: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const git = yield* Git
    const root = yield* temporary
    const { gitDir, workTree } = inside(root)
    const key = JSON.stringify([files, sparse])
    const known = clones.get(key)
    if (known === undefined) {
      const place = mkdtempSync(join(tmpdir(), "reins-clone-"))
      const { commit } = yield* git.clone({
        url: bareRemote(place, files),
        ref: null,
        ...inside(place),
        ...(sparse && { sparse })
      })
      clones.set(key, { place, base: commit })
    }
    const { base, place } = clones.get(key) ?? assert.fail("no clone")
    cpSync(place, root, { recursive: true, preserveTimestamps: true })
    const config = join(workTree, ".git/config")
    writeFileSync(config, readFileSync(config, "utf8").replaceAll(place, root))
    // The copies are other files than those that the indexes have seen.
    const index = { GIT_INDEX_FILE: join(gitDir, "reins-index") }
    plainGitWith(index, `--git-dir=${gitDir}`, `--work-tree=${workTree}`, "update-index", "-q", "--refresh")
    plainGit(workTree, "update-index", "-q", "--refresh")
    return { git, root, url: join(root, "remote.git"), gitDir, workTree, base }
  })

const inside = (root: string) => ({ gitDir: join(root, "trusted"), workTree: join(root, "work") })

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
