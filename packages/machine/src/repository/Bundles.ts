import * as fs from "node:fs/promises"
import { join } from "node:path"
import { isGitRefName } from "@reins/base/domain/RefName"
import { Effect } from "effect"
import { beneath } from "../files/NameText.js"
import { fetchByStore, isOfStore, type ObjectStore, withoutStore } from "./objects/ObjectStore.js"
import { initTrusted } from "./objects/RepositoryFiles.js"
import { requireTrusted } from "./Repository.js"
import { readPackedRefs, writePackedRefs } from "./remote/PackedRefs.js"
import { type Choice, fetchAll, listRemote, resolveCommit } from "./remote/RemoteFetch.js"
import { type GitCredential, remoteOf } from "./remote/RemoteUrl.js"
import { git, isObjectId, runGit } from "./run/GitCommand.js"
import { GitError, onDisk, readOutput } from "./run/GitError.js"
import type { GitMeans } from "./run/GitMeans.js"
import type { GitOptionsShape } from "./run/GitOptions.js"

// Writes the objects of a trusted git directory to files, and makes such a directory of them elsewhere. Each file is a bundle of git: the
// references, what they need beyond the given commit, and the commits that whoever reads it must have.

/** The references to write: those that came from the remote, those that the service has made, or one of these, below `refs/reins`. */
export interface BundleRequest {
  readonly gitDir: string
  readonly what: "base" | "work" | { readonly ref: string }
  /** The commit that the workspace started from; null when it started empty. All but `base` leaves out what that has. */
  readonly base: string | null
  /** The path of the bundle. */
  readonly file: string
}

/** Where the base of a workspace comes from when it is made again. */
export type BaseSource =
  | { readonly kind: "none" }
  | { readonly kind: "bundle"; readonly file: string; readonly commit: string }
  | {
      readonly kind: "remote"
      readonly url: string
      readonly credential: GitCredential | undefined
      readonly commit: string
      /** The store that gives the objects; none where it is absent. */
      readonly store?: ObjectStore
    }

/** A trusted git directory to make again, at a path where nothing is. */
export interface UnbundleRequest {
  readonly gitDir: string
  readonly base: BaseSource
  /** The bundle of the `work`. */
  readonly file: string
  /** The folders that the workspace holds; null for all. */
  readonly sparse: ReadonlyArray<string> | null
  /** Where the objects of the base are copied to, for the repository of the agent, unless a store has them. Null copies none. */
  readonly copyBaseTo: string | null
}

/** A bundle to add to a trusted git directory. */
export interface AddRequest {
  readonly gitDir: string
  readonly file: string
}

const prefixes = {
  base: ["refs/remotes/origin", "refs/tags", "refs/reins/base"],
  work: ["refs/reins"]
} as const

const baseRef = "refs/reins/base/"

const listRefs = (options: GitOptionsShape, gitDir: string, names: ReadonlyArray<string>) =>
  git({
    args: ["for-each-ref", "--format=%(refname)", ...names],
    gitDir,
    timeoutMs: options.localTimeoutMs
  }).pipe(
    Effect.map(({ stdout }) =>
      stdout
        .toString("utf8")
        .split("\n")
        .filter((name) => name !== "")
    )
  )

/**
 * See `Git.bundle`. Deltas are not looked for: they cost twenty times the work and save a tenth of the bytes, since most of what a workspace adds is
 * new. One thread gives the same bytes for the same objects.
 */
export const bundle = Effect.fnUntraced(function* (options: GitOptionsShape, request: BundleRequest) {
  const { base, file, gitDir, what } = request
  yield* requireTrusted(gitDir, ...(base === null ? [] : [base]))
  const names = typeof what === "string" ? prefixes[what] : [`refs/reins/${what.ref}`]
  const found = yield* listRefs(options, gitDir, names)
  const refs = what === "base" ? found : found.filter((name) => !name.startsWith(baseRef))
  if (refs.length === 0) return false
  const without = what !== "base" && base !== null ? [`^${base}`] : []
  yield* git({
    args: ["bundle", "create", "--quiet", file, "--stdin"],
    gitDir,
    settings: ["pack.window=0", "pack.threads=1"],
    stdin: Buffer.from([...refs, ...without].map((line) => `${line}\n`).join("")),
    timeoutMs: options.localTimeoutMs
  })
  return true
})

/** The references in what git says of a bundle that it has unpacked. Throws at a line that is none. */
export const refsIn = (output: string): ReadonlyArray<readonly [name: string, id: string]> => {
  const lines = output.split("\n")
  if (lines.pop() !== "") throw new Error("the last line has no end")
  return lines.map((line) => {
    const space = line.indexOf(" ")
    const [id, name] = [line.slice(0, space), line.slice(space + 1)]
    if (!isObjectId(id) || !isGitRefName(name)) throw new Error("not a reference")
    return [name, id]
  })
}

/** Puts the objects and the references of a bundle into a trusted directory. Fails when the directory lacks what the bundle builds on. */
const unpack = (options: GitOptionsShape, gitDir: string, file: string) =>
  Effect.gen(function* () {
    const { stdout } = yield* git({
      args: ["bundle", "unbundle", file],
      gitDir,
      timeoutMs: options.localTimeoutMs
    })
    const added = yield* readOutput("bundle", () => refsIn(stdout.toString("latin1")))
    yield* writePackedRefs(gitDir, new Map([...(yield* readPackedRefs(gitDir)), ...added]))
    // A ref that stands in a file of its own would hide the packed one.
    yield* onDisk("The refs could not be written", async () => {
      for (const [name] of added) await fs.rm(beneath(gitDir, Buffer.from(name, "latin1")), { force: true })
    })
  })

/** See `Git.addBundle`. */
export const addBundle = (options: GitOptionsShape, { file, gitDir }: AddRequest) =>
  Effect.zipRight(requireTrusted(gitDir), unpack(options, gitDir, file))

const baseGone = (commit: string) =>
  new GitError({
    kind: "not_found",
    message: `The repository no longer has the commit ${commit}, from which the workspace started: push it there again.`
  })

const requireBase = (options: GitOptionsShape, gitDir: string, commit: string) =>
  Effect.filterOrFail(
    resolveCommit(options, gitDir, commit),
    (found) => found === commit,
    () => baseGone(commit)
  )

const takeBase = (means: GitMeans, gitDir: string, source: BaseSource) =>
  Effect.gen(function* () {
    if (source.kind === "none") return
    const { commit } = source
    if (source.kind === "bundle") yield* unpack(means, gitDir, source.file)
    else {
      const remote = yield* remoteOf(means, source.url, source.credential)
      const refs = yield* listRemote(means, gitDir, remote)
      const choice: Choice = { ref: commit, branch: null, local: commit }
      const own = fetchAll(means, gitDir, remote, choice, refs).pipe(
        Effect.mapError((error) => (error.kind === "ref_not_found" ? baseGone(commit) : error))
      )
      const { store } = source
      yield* store === undefined
        ? own
        : fetchByStore(means, gitDir, { remote, choice, listed: refs }, store).pipe(
            Effect.zipRight(requireBase(means, gitDir, commit)),
            Effect.catchIf(isOfStore, (error) =>
              withoutStore(gitDir, error, async () => {}).pipe(
                Effect.zipRight(initTrusted(gitDir)),
                Effect.zipRight(own)
              )
            )
          )
    }
    yield* requireBase(means, gitDir, commit)
    yield* git({
      args: ["update-ref", `${baseRef}${commit}`, commit],
      gitDir,
      timeoutMs: means.localTimeoutMs
    })
  })

/** Fails when an object that a reference of the work needs beyond the base is not there. */
const requireWhole = (options: GitOptionsShape, gitDir: string, base: BaseSource) =>
  Effect.flatMap(
    runGit({
      args: [
        "rev-list",
        "--objects",
        "--quiet",
        "--glob=refs/reins/*",
        ...(base.kind === "none" ? [] : ["--not", base.commit])
      ],
      gitDir,
      timeoutMs: options.localTimeoutMs
    }),
    ({ exitCode }) =>
      exitCode === 0
        ? Effect.void
        : Effect.fail(
            new GitError({ kind: "not_found", message: "The snapshot lacks objects of git: take another one." })
          )
  )

/** See `Git.unbundle`. */
export const unbundle = Effect.fnUntraced(function* (means: GitMeans, request: UnbundleRequest) {
  const { base, copyBaseTo, file, gitDir } = request
  yield* written(() => fs.mkdir(gitDir, { recursive: true, mode: 0o700 }))
  yield* initTrusted(gitDir, request.sparse)
  yield* takeBase(means, gitDir, base)
  if (copyBaseTo !== null)
    yield* written(() =>
      fs.cp(join(gitDir, "objects"), copyBaseTo, {
        recursive: true,
        mode: fs.constants.COPYFILE_FICLONE,
        // The agent's own alternates come with its repository.
        filter: (path) => path !== join(gitDir, "objects", "info", "alternates")
      })
    )
  yield* unpack(means, gitDir, file)
  yield* requireWhole(means, gitDir, base)
}, Effect.scoped)

const written = <A>(run: () => Promise<A>) => onDisk("The git directory could not be written", run)
