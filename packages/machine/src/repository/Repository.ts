import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { beneath } from "../files/NameText.js"
import { removeTree } from "../files/RemoveTree.js"
import { fetchByStore, isOfStore, type ObjectStore, withoutStore } from "./objects/ObjectStore.js"
import { fileFailure, initTrusted, keepBaseIndex, onBranch, writeRepository } from "./objects/RepositoryFiles.js"
import { packedFile, type Refs } from "./remote/PackedRefs.js"
import { type Choice, choose, fetchAll, listRemote, resolveCommit, usualBranch } from "./remote/RemoteFetch.js"
import type { RemoteRefs } from "./remote/RemoteRefs.js"
import { type GitCredential, type Remote, remoteOf } from "./remote/RemoteUrl.js"
import { patternsOf, readCone } from "./run/Cone.js"
import { quoteConfig } from "./run/ConfigText.js"
import { git, requireObjectIds } from "./run/GitCommand.js"
import { GitError } from "./run/GitError.js"
import type { GitMeans } from "./run/GitMeans.js"
import type { GitOptionsShape } from "./run/GitOptions.js"
import { requireRefName } from "./run/RefName.js"

// Makes a trusted git directory and the clone of the agent. The agent's `.git` is never used after that.

/** A remote to clone, and the two folders that the clone fills. */
export interface CloneRequest {
  readonly url: string
  /** A branch, a tag or a full commit id; null is the default branch. */
  readonly ref: string | null
  readonly credential?: GitCredential
  readonly gitDir: string
  readonly workTree: string
  /** The store that gives the objects, where both repositories then find them. Each has its own without one. */
  readonly store?: ObjectStore
  /** The folders that the workspace holds, as `SparseFolders` has them; all when absent. */
  readonly sparse?: ReadonlyArray<string>
}

/** `ref` is the branch or tag that was checked out, or the commit id. From an empty remote `commit` is null. */
export interface CloneResult {
  readonly commit: string | null
  readonly ref: string
  /** Present for a tag. */
  readonly tag?: true
  /** Present when `resolve` has seen that the remote asked for the credential and took it. */
  readonly accepted?: true
}

/** The trusted git directory, and the folder where the agent works. */
export interface InitRequest {
  readonly gitDir: string
  readonly workTree: string
}

/** The index that the last snapshot left. Its file times let the next snapshot skip unchanged files. */
export const cachedIndex = (gitDir: string): string => join(gitDir, "reins-index")

// This file exists while the work tree is being filled. Its content is the service's own then, so a repetition may clear it.
const makingMarker = (gitDir: string): string => join(gitDir, "reins-making")

const exists = (path: string): Promise<boolean> =>
  fs.access(path).then(
    () => true,
    () => false
  )

const emptyFolder = async (folder: string): Promise<void> => {
  for (const name of await fs.readdir(folder, { encoding: "buffer" })) await removeTree(beneath(folder, name))
}

const prepareTarget = (request: InitRequest) =>
  Effect.gen(function* () {
    const empty = yield* Effect.tryPromise({
      try: async () => {
        await fs.mkdir(request.gitDir, { recursive: true, mode: 0o700 })
        await fs.mkdir(request.workTree, { recursive: true })
        const names = await fs.readdir(request.workTree, { encoding: "buffer" })
        if (names.length > 0 && !(await exists(makingMarker(request.gitDir)))) return false
        await fs.writeFile(makingMarker(request.gitDir), "")
        await emptyFolder(request.workTree)
        return true
      },
      catch: fileFailure("The workspace folder could not be made")
    })
    if (!empty) {
      return yield* new GitError({
        kind: "conflict",
        message: "The workspace folder is not empty: choose a new folder, or remove what is in it."
      })
    }
  })

const finishTarget = (request: InitRequest) =>
  Effect.tryPromise({
    try: () => fs.rm(makingMarker(request.gitDir), { force: true }),
    catch: fileFailure("The git directory could not be written")
  })

const agentConfig = ({ branch, sparse, url }: Pick<Origin, "url" | "branch" | "sparse">): string =>
  `${[
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true",
    ...(sparse === undefined ? [] : ["\tsparseCheckout = true\n\tsparseCheckoutCone = true"]),
    "[user]\n\tname = Agent\n\temail = agent@localhost",
    ...(url === null
      ? []
      : [`[remote "origin"]\n\turl = ${quoteConfig(url)}\n\tfetch = +refs/heads/*:refs/remotes/origin/*`]),
    ...(url === null || branch === null
      ? []
      : [`[branch ${quoteConfig(branch)}]\n\tremote = origin\n\tmerge = ${quoteConfig(`refs/heads/${branch}`)}`])
  ].join("\n")}\n`

/** The agent's repository begins with these, besides its files. `branch` is the one that it works on, and `head` the content of HEAD. */
interface Origin {
  readonly url: string | null
  readonly branch: string | null
  readonly head: string
  readonly refs?: Refs
  readonly defaultBranch?: string | null
  readonly sparse?: ReadonlyArray<string> | undefined
}

// Makes an ordinary repository while nobody else can write there. Its objects are copied, not linked, because the agent may change them. The name of a
// store is copied with them.
const makeAgentRepository = ({ gitDir, workTree }: InitRequest, { defaultBranch = null, refs, ...origin }: Origin) =>
  Effect.tryPromise({
    try: async () => {
      const agentDir = join(workTree, ".git")
      await writeRepository(agentDir, {
        config: agentConfig(origin),
        "info/exclude": "",
        ...(origin.sparse !== undefined && { "info/sparse-checkout": patternsOf(origin.sparse) }),
        ...(refs !== undefined && { "packed-refs": packedFile(refs) }),
        ...(defaultBranch !== null && { "refs/remotes/origin/HEAD": `ref: refs/remotes/origin/${defaultBranch}\n` }),
        HEAD: origin.head
      })
      await fs.cp(join(gitDir, "objects"), join(agentDir, "objects"), {
        recursive: true,
        mode: fs.constants.COPYFILE_FICLONE
      })
      // The ends of the history where the remote is a shallow clone itself.
      if (await exists(join(gitDir, "shallow"))) await fs.copyFile(join(gitDir, "shallow"), join(agentDir, "shallow"))
    },
    catch: fileFailure("The workspace's repository could not be written")
  })

// The trusted directory writes the files, because no driver and no setting of the host holds there. Both repositories start with the same index.
const checkout = (
  options: GitOptionsShape,
  request: { readonly gitDir: string; readonly workTree: string },
  commit: string
) =>
  Effect.gen(function* () {
    const index = cachedIndex(request.gitDir)
    const { isSparse, settings } = yield* readCone(request.gitDir)
    yield* git({
      args: ["read-tree", "--reset", "-u", commit],
      gitDir: request.gitDir,
      workTree: request.workTree,
      indexFile: index,
      settings,
      timeoutMs: options.localTimeoutMs
    })
    if (!isSparse) yield* keepBaseIndex(request.gitDir, commit, index)
    yield* Effect.tryPromise({
      try: async () => {
        const target = join(request.workTree, ".git", "index")
        await fs.copyFile(index, target)
        // A copy that looks younger than its original would hide changes that are made within the same clock tick.
        const { mtimeMs } = await fs.stat(index)
        await fs.utimes(target, Math.floor(mtimeMs) / 1000, Math.floor(mtimeMs) / 1000)
      },
      catch: fileFailure("The workspace's index could not be written")
    })
  })

/** The commit to check out, and the remote that it came from. */
interface Fetched {
  readonly url: string
  readonly choice: Choice
  readonly commit: string
  readonly defaultBranch: string | null
  readonly refs: Refs
}

const latin1 = (text: string): string => Buffer.from(text).toString("latin1")

const materialise = (options: GitOptionsShape, request: CloneRequest, { choice, commit, refs, ...remote }: Fetched) =>
  Effect.gen(function* () {
    const { branch } = choice
    // The remote says the name. git has fetched it only if it is a good one.
    const isFetched = refs.has(`refs/remotes/origin/${latin1(remote.defaultBranch ?? "")}`)
    yield* makeAgentRepository(request, {
      url: remote.url,
      branch,
      sparse: request.sparse,
      ...(isFetched && { defaultBranch: remote.defaultBranch }),
      ...(branch === null
        ? { head: `${commit}\n`, refs }
        : { head: onBranch(branch), refs: new Map([...refs, [`refs/heads/${latin1(branch)}`, commit]]) })
    })
    yield* checkout(options, request, commit)
  })

/** A remote and a name in it. Nothing of the remote is fetched. */
export interface ResolveRequest extends Pick<CloneRequest, "url" | "ref" | "credential"> {
  /** An existing folder, in which nothing is written. */
  readonly directory: string
}

/** See `Git.resolve`. */
export const resolve = Effect.fnUntraced(function* (options: GitMeans, request: ResolveRequest) {
  if (request.ref !== null) yield* requireRefName(request.ref)
  const remote = yield* remoteOf(options, request.url, request.credential)
  const refs = yield* listRemote(options, request.directory, remote)
  const accepted = remote.isAccepted?.() === true ? { accepted: true as const } : {}
  if (refs.refs.size === 0) return { commit: null, ref: request.ref ?? usualBranch, ...accepted } satisfies CloneResult
  const choice = choose(refs, request.ref)
  if (choice === null) return yield* refNotFound(request.ref)
  const name = choice.branch === null ? choice.local : `refs/heads/${choice.branch}`
  // An annotated tag stands beside the commit that it leads to.
  const commit = refs.names.get(`${name}^{}`) ?? refs.names.get(name) ?? name
  return { commit, ...placeOf(choice), ...accepted } satisfies CloneResult
}, Effect.scoped)

/** The answer of a remote, and what is wanted of it. */
interface Given {
  readonly remote: Remote
  readonly refs: RemoteRefs
  readonly choice: Choice
}

const cloneFrom = Effect.fnUntraced(function* (
  options: GitMeans,
  request: CloneRequest,
  { choice, refs, remote }: Given,
  store: ObjectStore | null
) {
  const { gitDir } = request
  const fetched = yield* store === null
    ? fetchAll(options, gitDir, remote, choice, refs)
    : fetchByStore(options, gitDir, { remote, choice, listed: refs }, store)
  const commit = yield* resolveCommit(options, gitDir, choice.local)
  if (commit === null) return yield* refNotFound(request.ref)
  yield* git({
    args: ["update-ref", `refs/reins/base/${commit}`, commit],
    gitDir,
    timeoutMs: options.localTimeoutMs
  })
  const { defaultBranch } = refs
  yield* materialise(options, request, { url: remote.url, choice, commit, defaultBranch, refs: fetched })
  yield* finishTarget(request)
  return { commit, ...placeOf(choice) }
})

const placeOf = ({ local, ref }: Choice) => ({ ref, ...(local.startsWith("refs/tags/") && { tag: true as const }) })

/** See `Git.clone`. */
export const clone = Effect.fnUntraced(function* (options: GitMeans, request: CloneRequest) {
  if (request.ref !== null) yield* requireRefName(request.ref)
  const remote = yield* remoteOf(options, request.url, request.credential)
  yield* prepareTarget(request)
  yield* initTrusted(request.gitDir, request.sparse)
  const refs = yield* listRemote(options, request.gitDir, remote)
  const choice = choose(refs, request.ref)
  if (refs.refs.size === 0) {
    const ref = request.ref ?? usualBranch
    const { sparse } = request
    yield* makeAgentRepository(request, { url: remote.url, branch: ref, head: onBranch(ref), sparse })
    yield* finishTarget(request)
    return { commit: null, ref }
  }
  if (choice === null) return yield* refNotFound(request.ref)
  const given: Given = { remote, refs, choice }
  const { store } = request
  if (store === undefined) return yield* cloneFrom(options, request, given, null)
  return yield* cloneFrom(options, request, given, store).pipe(
    Effect.catchIf(isOfStore, (error) =>
      withoutStore(request.gitDir, error, () => emptyFolder(request.workTree)).pipe(
        Effect.zipRight(prepareTarget(request)),
        Effect.zipRight(initTrusted(request.gitDir)),
        Effect.zipRight(cloneFrom(options, request, given, null))
      )
    )
  )
}, Effect.scoped)

/** A remote gives commits by their whole ids only, of 40 or 64 digits. */
const isAbbreviated = (ref: string) => /^(?:[0-9a-f]{4,39}|[0-9a-f]{41,63})$/i.test(ref)

const refNotFound = (ref: string | null) => new GitError({ kind: "ref_not_found", message: refNotFoundText(ref) })

const refNotFoundText = (ref: string | null) => {
  if (ref === null) return "The remote has no default branch: name a branch, tag or commit."
  return isAbbreviated(ref)
    ? "The remote has no branch or tag of that name, and finds no commit by a part of its id: give the whole id."
    : "The remote has no branch, tag or commit of that name: choose one that exists there."
}

/** See `Git.init`. */
export const init = Effect.fnUntraced(function* (request: InitRequest) {
  yield* prepareTarget(request)
  yield* initTrusted(request.gitDir)
  yield* makeAgentRepository(request, { url: null, branch: null, head: onBranch(usualBranch) })
  yield* finishTarget(request)
})

/** Fails with `not_found` unless the git directory is there and every id is an object id. */
export const requireTrusted = (gitDir: string, ...ids: ReadonlyArray<string>): Effect.Effect<void, GitError> =>
  Effect.zipRight(
    requireObjectIds(...ids),
    Effect.tryPromise({
      try: () => fs.access(join(gitDir, "HEAD")),
      catch: () =>
        new GitError({
          kind: "not_found",
          message: "The git directory is not there: clone or init the workspace first."
        })
    })
  )
