import { Effect } from "effect"
import type { BeneathError } from "../../files/Beneath.js"
import { nameStore } from "../../repository/objects/Alternates.js"
import { fillStore, isStoreWhole, type ObjectStore } from "../../repository/objects/ObjectStore.js"
import { requireTrusted } from "../../repository/Repository.js"
import { readPackedRefs, writePackedRefs } from "../../repository/remote/PackedRefs.js"
import { clonedRefs, fetchIds, listRemote, resolveCommit } from "../../repository/remote/RemoteFetch.js"
import { type GitCredential, type Remote, remoteOf } from "../../repository/remote/RemoteUrl.js"
import { git } from "../../repository/run/GitCommand.js"
import { GitError, readOutput } from "../../repository/run/GitError.js"
import type { GitMeans } from "../../repository/run/GitMeans.js"
import { forgetForAgent, nameForAgent } from "./AgentAlternates.js"

// Gives a session whose object store is gone or damaged its objects back.

/** A session whose store cannot be relied on, and the store that it shall have. */
export interface ReattachRequest {
  readonly gitDir: string
  readonly workTree: string
  readonly url: string
  /** The commit that the workspace started from; null when it started empty. */
  readonly base: string | null
  readonly credential?: GitCredential
  /** The store that the session names now, and the one for its present URL. */
  readonly named: ObjectStore
  readonly store: ObjectStore
}

const baseGone = (commit: string) =>
  new GitError({
    kind: "not_found",
    message: `The objects of the session are damaged on this machine, and its repository no longer has the commit ${commit}: push it there again.`
  })

/** Those of the ids that a repository does not have. */
const missingIn = (means: GitMeans, gitDir: string, ids: Iterable<string>) =>
  git({
    args: ["cat-file", "--batch-check=%(objectname)"],
    gitDir,
    stdin: Buffer.from([...new Set(ids)].map((id) => `${id}\n`).join("")),
    timeoutMs: means.localTimeoutMs
  }).pipe(
    Effect.flatMap(({ stdout }) =>
      readOutput("cat-file", () => {
        const lines = stdout.toString("latin1").split("\n")
        return new Set(lines.flatMap((line) => (line.endsWith(" missing") ? [line.split(" ")[0] ?? ""] : [])))
      })
    )
  )

const bringBase = (means: GitMeans, { base, gitDir, store }: ReattachRequest, remote: Remote) =>
  Effect.gen(function* () {
    if (base === null || (yield* resolveCommit(means, gitDir, base)) !== null) return
    yield* store
      .alone(fetchIds(means, store.path, remote, [base]))
      .pipe(Effect.mapError((error) => (error.kind === "ref_not_found" ? baseGone(base) : error)))
  })

/** See `Git.reattach`. */
export const reattach = Effect.fnUntraced(function* (means: GitMeans, request: ReattachRequest) {
  const { gitDir, store, workTree } = request
  yield* requireTrusted(gitDir)
  const hasBase =
    request.base === null ||
    (yield* resolveCommit(means, gitDir, request.base).pipe(
      Effect.map((found) => found !== null),
      // git stops at the name of a store that is gone.
      Effect.orElseSucceed(() => false)
    ))
  if (hasBase && (yield* isStoreWhole(means, request.named))) return false
  const remote = yield* remoteOf(means, request.url, request.credential)
  const listed = yield* listRemote(means, gitDir, remote)
  yield* fillStore(means, store, remote, { refs: clonedRefs(listed), heads: [] }, nameStore(gitDir, store.path))
  yield* bringBase(means, request, remote)
  // A branch that the remote has given up meanwhile is nowhere any more.
  const refs = yield* readPackedRefs(gitDir)
  const missing = yield* missingIn(means, gitDir, refs.values())
  yield* Effect.mapError(nameForAgent(workTree, store.path), notNamed)
  if (missing.size === 0) return true
  yield* writePackedRefs(gitDir, new Map([...refs].filter(([, id]) => !missing.has(id))))
  yield* Effect.mapError(forgetForAgent(workTree, missing), notNamed)
  return true
}, Effect.scoped)

const notNamed = ({ reason }: BeneathError) =>
  new GitError({
    kind: "internal",
    message: `The agent's own repository could not be given its objects (${reason}): look at .git/objects/info in the session.`
  })
