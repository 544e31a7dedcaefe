import * as fs from "node:fs/promises"
import { dirname, join } from "node:path"
import { Effect } from "effect"
import { git, isObjectId, requireObjectIds, runGit } from "./GitCommand.js"
import { GitError } from "./GitError.js"
import type { GitMeans } from "./GitMeans.js"
import type { GitOptionsShape } from "./GitOptions.js"
import { requireRefName } from "./RefName.js"
import { callRemote } from "./RemoteCall.js"
import { type GitCredential, type Remote, remoteOf } from "./RemoteUrl.js"

// Makes a trusted git directory and the clone of the agent. The agent's `.git` is never used after that.

/** A remote to clone, and the two folders that the clone fills. */
export interface CloneRequest {
  readonly url: string
  /** A branch, a tag or a full commit id; null is the default branch. */
  readonly ref: string | null
  readonly credential?: GitCredential
  readonly gitDir: string
  readonly workTree: string
}

/** `ref` is the branch or tag that was checked out, or the commit id. From an empty remote `commit` is null. */
export interface CloneResult {
  readonly commit: string | null
  readonly ref: string
}

/** The trusted git directory, and the folder where the agent works. */
export interface InitRequest {
  readonly gitDir: string
  readonly workTree: string
}

/** The index that the last snapshot left. Its file times let the next snapshot skip unchanged files. */
export const cachedIndex = (gitDir: string): string => join(gitDir, "reins-index")

// `info/attributes` overrides every `.gitattributes`, so content goes in and out byte for byte and no driver is ever chosen.
const attributes = "* -text !eol -ident !filter !working-tree-encoding !merge !diff !export-subst\n"

const defaultBranch = "main"

const fileFailure = (message: string) => () => new GitError({ kind: "internal", message })

const onBranch = (name: string): string => `ref: refs/heads/${name}\n`

type RepositoryFiles = Readonly<Record<string, string | Buffer>> & { readonly HEAD: string }

/** Writes the files of a repository (gitrepository-layout(5)), which take a process for each piece when git writes them. HEAD makes it a repository. */
const writeRepository = async (gitDir: string, files: RepositoryFiles) => {
  for (const folder of ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"])
    await fs.mkdir(join(gitDir, folder), { recursive: true })
  const { HEAD, ...others } = files
  for (const [name, content] of [...Object.entries(others), ["HEAD", HEAD] as const]) {
    await fs.mkdir(dirname(join(gitDir, name)), { recursive: true })
    // As git does: an empty HEAD after a loss of power would be no repository.
    await fs.writeFile(join(gitDir, name), content, { flush: true })
  }
}

/** Makes a trusted git directory. */
export const initTrusted = (gitDir: string) =>
  Effect.tryPromise({
    try: async () => {
      await fs.mkdir(gitDir, { recursive: true, mode: 0o700 })
      await fs.chmod(gitDir, 0o700)
      const config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
      await writeRepository(gitDir, { config, "info/attributes": attributes, HEAD: onBranch(defaultBranch) })
    },
    catch: fileFailure("The git directory could not be written: check the space and permissions of the data directory.")
  })

// This file exists while the work tree is being filled. Its content is the service's own then, so a repetition may clear it.
const makingMarker = (gitDir: string): string => join(gitDir, "reins-making")

const exists = (path: string): Promise<boolean> =>
  fs.access(path).then(
    () => true,
    () => false
  )

const prepareTarget = (request: InitRequest) =>
  Effect.gen(function* () {
    const empty = yield* Effect.tryPromise({
      try: async () => {
        await fs.mkdir(request.gitDir, { recursive: true, mode: 0o700 })
        await fs.mkdir(request.workTree, { recursive: true })
        const names = await fs.readdir(request.workTree)
        if (names.length > 0 && !(await exists(makingMarker(request.gitDir)))) return false
        await fs.writeFile(makingMarker(request.gitDir), "")
        for (const name of names) await fs.rm(join(request.workTree, name), { recursive: true, force: true })
        return true
      },
      catch: fileFailure("The workspace folder could not be made: check the permissions of the data directory.")
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
    catch: fileFailure("The git directory could not be written: check the permissions of the data directory.")
  })

interface RemoteRefs {
  readonly defaultBranch: string | null
  readonly names: ReadonlyMap<string, string>
}

/** The branches and tags of a remote, and its default branch. */
export const listRemote = (options: GitMeans, gitDir: string, remote: Remote) =>
  callRemote(options, remote, {
    args: ["ls-remote", "--quiet", "--symref", "--end-of-options", remote.url],
    gitDir
  }).pipe(Effect.map((output) => parseRemoteRefs(output.stdout.toString("utf8"))))

const parseRemoteRefs = (text: string): RemoteRefs => {
  const names = new Map<string, string>()
  let head: string | null = null
  for (const line of text.split("\n")) {
    const [value = "", name = ""] = line.split("\t")
    if (value.startsWith("ref: refs/heads/") && name === "HEAD") head = value.slice("ref: refs/heads/".length)
    else if (isObjectId(value)) names.set(name, value)
  }
  return { defaultBranch: head, names }
}

interface Choice {
  readonly ref: string
  readonly branch: string | null
  readonly local: string
}

const choose = (refs: RemoteRefs, ref: string | null): Choice | null => {
  const wanted = ref?.replace(/^refs\/heads\//, "") ?? refs.defaultBranch ?? defaultBranch
  if (refs.names.has(`refs/heads/${wanted}`)) {
    return { ref: wanted, branch: wanted, local: `refs/remotes/origin/${wanted}` }
  }
  const tag = wanted.replace(/^refs\/tags\//, "")
  if (refs.names.has(`refs/tags/${tag}`)) return { ref: tag, branch: null, local: `refs/tags/${tag}` }
  if (isObjectId(wanted)) return { ref: wanted, branch: null, local: wanted }
  // A remote without a default branch has a detached HEAD.
  const head = ref === null ? refs.names.get("HEAD") : undefined
  return head === undefined ? null : { ref: head, branch: null, local: head }
}

/** Fetches every branch and tag of a remote, and the chosen commit where none of them leads to it. */
export const fetchAll = (options: GitMeans, gitDir: string, remote: Remote, choice: Choice, refs: RemoteRefs) => {
  const known = new Set(refs.names.values())
  // A commit that no ref points at is asked for by its id, unless it came with a branch. Some hosts refuse to give commits by their ids.
  const extra = isObjectId(choice.local) && !known.has(choice.local) ? [choice.local] : []
  const fetch = (specs: ReadonlyArray<string>) =>
    callRemote(options, remote, {
      args: ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--end-of-options", remote.url, ...specs],
      gitDir
    })
  const all = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"]
  return fetch(all).pipe(
    Effect.andThen(
      extra.length === 0
        ? Effect.void
        : Effect.flatMap(resolveCommit(options, gitDir, choice.local), (commit) =>
            commit === null ? Effect.asVoid(fetch(extra)) : Effect.void
          )
    )
  )
}

/** The commit that a name leads to in a trusted directory; null where there is none. */
export const resolveCommit = (options: GitOptionsShape, gitDir: string, name: string) =>
  runGit({
    args: ["rev-parse", "--quiet", "--verify", "--end-of-options", `${name}^{commit}`],
    gitDir,
    timeoutMs: options.localTimeoutMs
  }).pipe(
    Effect.map((output) => {
      const id = output.stdout.toString("utf8").trim()
      return output.exitCode === 0 && isObjectId(id) ? id : null
    })
  )

const escapeConfig = (value: string): string => `"${value.replace(/[\\"]/g, "\\$&")}"`

const agentConfig = (url: string | null, branch: string | null): string =>
  `${[
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true",
    "[user]\n\tname = Agent\n\temail = agent@localhost",
    ...(url === null
      ? []
      : [`[remote "origin"]\n\turl = ${escapeConfig(url)}\n\tfetch = +refs/heads/*:refs/remotes/origin/*`]),
    ...(url === null || branch === null
      ? []
      : [`[branch ${escapeConfig(branch)}]\n\tremote = origin\n\tmerge = refs/heads/${branch}`])
  ].join("\n")}\n`

const packedRefs = Buffer.from("# pack-refs with: sorted \n")

/** The agent's repository begins with these, besides its files. `branch` is the one that it works on, and `head` the content of HEAD. */
interface Origin {
  readonly url: string | null
  readonly branch: string | null
  readonly head: string
  /** Refs with their commits, a line each, in the order of their names. */
  readonly refs?: Buffer
  readonly defaultBranch?: string | null
}

// Makes an ordinary repository while nobody else can write there. Its objects are copied, not linked, because the agent may change them.
const makeAgentRepository = ({ gitDir, workTree }: InitRequest, { defaultBranch = null, refs, ...origin }: Origin) =>
  Effect.tryPromise({
    try: async () => {
      const agentDir = join(workTree, ".git")
      await writeRepository(agentDir, {
        config: agentConfig(origin.url, origin.branch),
        "info/exclude": "",
        ...(refs !== undefined && { "packed-refs": Buffer.concat([packedRefs, refs]) }),
        ...(defaultBranch !== null && { "refs/remotes/origin/HEAD": `ref: refs/remotes/origin/${defaultBranch}\n` }),
        HEAD: origin.head
      })
      await fs.cp(join(gitDir, "objects"), join(agentDir, "objects"), {
        recursive: true,
        mode: fs.constants.COPYFILE_FICLONE
      })
    },
    catch: fileFailure("The workspace's repository could not be written: check the space of the data directory.")
  })

// The trusted directory writes the files, so that the content lands byte for byte. Both repositories start with the same index.
const checkout = (
  options: GitOptionsShape,
  request: { readonly gitDir: string; readonly workTree: string },
  commit: string
) =>
  Effect.gen(function* () {
    const index = cachedIndex(request.gitDir)
    yield* git({
      args: ["read-tree", "--reset", "-u", commit],
      gitDir: request.gitDir,
      workTree: request.workTree,
      indexFile: index,
      timeoutMs: options.localTimeoutMs
    })
    yield* Effect.tryPromise({
      try: async () => {
        const target = join(request.workTree, ".git", "index")
        await fs.copyFile(index, target)
        // A copy that looks younger than its original would hide changes that are made within the same clock tick.
        const { mtimeMs } = await fs.stat(index)
        await fs.utimes(target, Math.floor(mtimeMs) / 1000, Math.floor(mtimeMs) / 1000)
      },
      catch: fileFailure("The workspace's index could not be written: check the space of the data directory.")
    })
  })

/** The commit to check out, and the remote that it came from. */
interface Fetched {
  readonly url: string
  readonly choice: Choice
  readonly commit: string
  readonly defaultBranch: string | null
}

const materialise = (options: GitOptionsShape, request: CloneRequest, { choice, commit, ...remote }: Fetched) =>
  Effect.gen(function* () {
    const fetched = yield* git({
      args: ["for-each-ref", "--format=%(objectname) %(refname)", "refs/remotes/origin", "refs/tags"],
      gitDir: request.gitDir,
      timeoutMs: options.localTimeoutMs
    })
    const refs = fetched.stdout
    const { branch } = choice
    // The remote says the name. git has fetched it only if it is a good one.
    const isFetched = refs.includes(` refs/remotes/origin/${remote.defaultBranch}\n`)
    yield* makeAgentRepository(request, {
      url: remote.url,
      branch,
      ...(isFetched && { defaultBranch: remote.defaultBranch }),
      // The branch of the agent comes before those of the remote.
      ...(branch === null
        ? { head: `${commit}\n`, refs }
        : { head: onBranch(branch), refs: Buffer.concat([Buffer.from(`${commit} refs/heads/${branch}\n`), refs]) })
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
  if (refs.names.size === 0) return { commit: null, ref: request.ref ?? defaultBranch } satisfies CloneResult
  const choice = choose(refs, request.ref)
  if (choice === null) return yield* refNotFound(request.ref)
  const name = choice.branch === null ? choice.local : `refs/heads/${choice.branch}`
  // An annotated tag stands beside the commit that it leads to.
  const result: CloneResult = { commit: refs.names.get(`${name}^{}`) ?? refs.names.get(name) ?? name, ref: choice.ref }
  return result
}, Effect.scoped)

/** See `Git.clone`. */
export const clone = Effect.fnUntraced(function* (options: GitMeans, request: CloneRequest) {
  if (request.ref !== null) yield* requireRefName(request.ref)
  const remote = yield* remoteOf(options, request.url, request.credential)
  yield* prepareTarget(request)
  yield* initTrusted(request.gitDir)
  const refs = yield* listRemote(options, request.gitDir, remote)
  const choice = choose(refs, request.ref)
  if (refs.names.size === 0) {
    const ref = request.ref ?? defaultBranch
    yield* makeAgentRepository(request, { url: remote.url, branch: ref, head: onBranch(ref) })
    yield* finishTarget(request)
    return { commit: null, ref }
  }
  if (choice === null) return yield* refNotFound(request.ref)
  yield* fetchAll(options, request.gitDir, remote, choice, refs)
  const commit = yield* resolveCommit(options, request.gitDir, choice.local)
  if (commit === null) return yield* refNotFound(request.ref)
  yield* git({
    args: ["update-ref", `refs/reins/base/${commit}`, commit],
    gitDir: request.gitDir,
    timeoutMs: options.localTimeoutMs
  })
  yield* materialise(options, request, { url: remote.url, choice, commit, defaultBranch: refs.defaultBranch })
  yield* finishTarget(request)
  return { commit, ref: choice.ref }
}, Effect.scoped)

const refNotFound = (ref: string | null) =>
  new GitError({
    kind: "ref_not_found",
    message:
      ref === null
        ? "The remote has no default branch: name a branch, tag or commit."
        : "The remote has no branch, tag or commit of that name: choose one that exists there."
  })

/** See `Git.init`. */
export const init = Effect.fnUntraced(function* (request: InitRequest) {
  yield* prepareTarget(request)
  yield* initTrusted(request.gitDir)
  yield* makeAgentRepository(request, { url: null, branch: null, head: onBranch(defaultBranch) })
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
