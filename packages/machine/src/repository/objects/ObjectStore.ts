import * as fs from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { removeTree } from "../../files/RemoveTree.js"
import { type Refs, readPackedRefs, writePackedRefs } from "../remote/PackedRefs.js"
import { type Choice, clonedRefs, fetchIds } from "../remote/RemoteFetch.js"
import type { RemoteRefs } from "../remote/RemoteRefs.js"
import type { Remote } from "../remote/RemoteUrl.js"
import { git, isObjectId } from "../run/GitCommand.js"
import { GitError, onDisk } from "../run/GitError.js"
import type { GitMeans } from "../run/GitMeans.js"
import { doubted, isAtPath, namedStore, nameStore, reserveStore, unfinished } from "./Alternates.js"
import { initTrusted } from "./RepositoryFiles.js"
import { foldPacks, heal, packsAreSound, removeLeftovers } from "./StoreCare.js"

// Keeps the objects of one repository once for all sessions that name it. Objects are only added. A store lives at one path for as long as a session
// names it, because sandboxes have its directory mounted.

/** An object store. Nothing else changes it while an effect runs `alone`. */
export interface ObjectStore {
  /** Absolute. The last two names are those that `storesIn` and `isStoreName` know. */
  readonly path: string
  readonly alone: <A>(use: Effect.Effect<A, GitError>) => Effect.Effect<A, GitError>
}

const atStore = <A>(run: () => Promise<A>) => onDisk("The object store could not be written", run)

/** Says that objects of the store that a repository names could not be read. The next session that fills it looks at each. */
export const doubtStore = (gitDir: string): Effect.Effect<void> =>
  namedStore(gitDir).pipe(
    Effect.flatMap((path) => (path === null ? Effect.void : atStore(() => fs.writeFile(doubted(path), "")))),
    Effect.ignore
  )

/** True when every reference of a repository leads to objects that are all there. */
const isConnected = (means: GitMeans, gitDir: string): Effect.Effect<boolean> =>
  git({
    args: ["fsck", "--connectivity-only", "--no-dangling", "--no-progress"],
    gitDir,
    timeoutMs: means.localTimeoutMs
  }).pipe(
    Effect.as(true),
    Effect.orElseSucceed(() => false)
  )

/** Takes back that a store has to be looked at. */
const finish = (path: string) =>
  atStore(async () => {
    for (const mark of [unfinished(path), doubted(path)]) await fs.rm(mark, { force: true })
  })

const lookAt = (path: string) =>
  atStore(async () => ({
    isMade: await isAtPath(join(path, "HEAD")),
    isUnfinished: await isAtPath(unfinished(path)),
    isDoubted: await isAtPath(doubted(path))
  }))

/** The references of a store whose objects are all there; null for a store that is damaged. */
const wholeRefs = Effect.fnUntraced(function* (means: GitMeans, path: string) {
  const { isDoubted, isMade, isUnfinished } = yield* lookAt(path)
  if (!isMade) {
    yield* initTrusted(path)
    return new Map<string, string>()
  }
  if (isUnfinished || isDoubted) {
    yield* removeLeftovers(path)
    if (isDoubted && !(yield* packsAreSound(means, path))) return null
    if (!(yield* isConnected(means, path))) return null
  }
  return yield* Effect.orElseSucceed(readPackedRefs(path), () => null)
})

/** References of a remote, and the commits besides to which none of them leads. */
export interface WantedRefs {
  readonly refs: Refs
  readonly heads: ReadonlyArray<string>
}

/**
 * Brings what a remote has into a store, by the credential of whoever asks, and runs `use` before anybody else can change the store. Nothing is asked of
 * the remote where the store has everything. A store that is damaged is filled anew beside what can still be read.
 */
export const fillStore = <A>(
  means: GitMeans,
  store: ObjectStore,
  remote: Remote,
  { heads, refs }: WantedRefs,
  use: Effect.Effect<A, GitError>
): Effect.Effect<A, GitError> => {
  const { path } = store
  const noted: Refs = new Map([...refs, ...heads.map((id) => [`refs/reins/head/${id}`, id] as const)])
  const ids = new Set(noted.values())
  const fill = Effect.gen(function* () {
    yield* atStore(() => reserveStore(path))
    const had = yield* wholeRefs(means, path)
    const known = new Set(had?.values())
    if (had !== null && [...ids].every((id) => known.has(id))) return yield* finish(path)
    yield* atStore(() => fs.writeFile(unfinished(path), "", { flush: true }))
    yield* had === null ? heal(means, path, remote, ids) : fetchIds(means, path, remote, ids)
    yield* writePackedRefs(path, noted)
    yield* foldPacks(means, path)
    return yield* finish(path)
  })
  return store.alone(Effect.zipRight(fill, use))
}

/** True for a store that is whole after all. It is looked at once. */
export const isStoreWhole = (means: GitMeans, { alone, path }: ObjectStore): Effect.Effect<boolean, GitError> =>
  alone(
    Effect.gen(function* () {
      if (!(yield* lookAt(path)).isMade || (yield* wholeRefs(means, path)) === null) return false
      yield* finish(path)
      return true
    })
  )

/** The commit is not one to which a branch or tag leads, so only the remote can tell who may have it. */
const notListed = new GitError({
  kind: "ref_not_found",
  message: "No branch or tag of the remote leads to the commit."
})

/** Fails for a commit that the listed references do not lead to, although the store may have it. */
const requireListed = (means: GitMeans, path: string, commit: string, { names }: RemoteRefs) => {
  const listed = [...new Set(names.values())]
  if (listed.includes(commit)) return Effect.void
  return git({
    args: ["rev-list", "--max-count=1", "--stdin"],
    gitDir: path,
    stdin: Buffer.from([commit, ...listed.map((id) => `^${id}`), ""].join("\n")),
    timeoutMs: means.localTimeoutMs
  }).pipe(
    Effect.mapError(() => notListed),
    Effect.filterOrFail(
      ({ stdout }) => stdout.length === 0,
      () => notListed
    )
  )
}

/** The ends of the history, where the remote is a shallow clone itself. */
const copyShallow = (path: string, gitDir: string) =>
  atStore(async () => {
    if (await isAtPath(join(path, "shallow"))) await fs.copyFile(join(path, "shallow"), join(gitDir, "shallow"))
  })

/**
 * Gives a new git directory what `fetchAll` gives, by way of a store that it names from then on. Fails with `ref_not_found` for a commit that no
 * listed reference leads to.
 */
export const fetchByStore = Effect.fnUntraced(function* (
  means: GitMeans,
  gitDir: string,
  { choice, listed, remote }: { readonly remote: Remote; readonly choice: Choice; readonly listed: RemoteRefs },
  store: ObjectStore
) {
  const refs = clonedRefs(listed)
  const head = listed.names.get("HEAD")
  const heads = choice.local === head ? [head] : []
  const name = Effect.gen(function* () {
    if (isObjectId(choice.local)) yield* requireListed(means, store.path, choice.local, listed)
    yield* copyShallow(store.path, gitDir)
    yield* nameStore(gitDir, store.path)
  })
  yield* fillStore(means, store, remote, { refs, heads }, name)
  yield* writePackedRefs(gitDir, refs)
  return refs
})

/** True for a failure of a store, without which the remote may still give what is wanted. All others are those of the remote. */
export const isOfStore = ({ kind }: GitError): boolean =>
  kind === "internal" || kind === "not_found" || kind === "ref_not_found" || kind === "conflict"

/** Tells why a session has objects of its own, and doubts the store where an object could not be read. `forget` removes what was made. */
export const withoutStore = (
  gitDir: string,
  error: GitError,
  forget: () => Promise<void>
): Effect.Effect<void, GitError> =>
  Effect.gen(function* () {
    if (error !== notListed) {
      yield* Effect.logWarning("an object store could not be used, so the session has a clone of its own", {
        reason: error.message
      })
      yield* doubtStore(gitDir)
    }
    yield* atStore(async () => {
      await forget()
      await removeTree(gitDir)
    })
  })
