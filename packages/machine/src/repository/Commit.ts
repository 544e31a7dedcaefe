import { readdir } from "node:fs/promises"
import { join } from "node:path"
import type { GitIdentity } from "@reins/base/domain/GitIdentity"
import { isRefName } from "@reins/base/domain/RefName"
import { type DateTime, Effect } from "effect"
import { requireTrusted } from "./Repository.js"
import { git, isObjectId } from "./run/GitCommand.js"
import { GitError, notUnderstood, onDisk } from "./run/GitError.js"
import type { GitOptionsShape } from "./run/GitOptions.js"

/** A tree to commit in a trusted git directory. */
export interface CommitRequest {
  readonly gitDir: string
  readonly tree: string
  readonly parents: ReadonlyArray<string>
  readonly message: string
  /** The time of author and committer, in whole seconds. It is part of the commit's identity. */
  readonly date: DateTime.Utc
  /** Default: the committer. */
  readonly author?: GitIdentity
  /** Default: Reins <reins@localhost>. */
  readonly committer?: GitIdentity
  /** Signs the commit. It gets the bytes of the commit without a signature, and gives an armoured one. */
  readonly sign?: (content: Uint8Array) => Effect.Effect<string>
}

/** A commit whose tree may lie in another object store, which `env` names. */
interface InternalCommitRequest extends CommitRequest {
  readonly env?: Readonly<Record<string, string>>
}

/** The author of the commits that the service itself makes. */
export const service = { name: "Reins", email: "reins@localhost" }

/** A name and an address as git writes them in a commit. */
export const signatureOf = ({ email, name }: typeof service): string => `${name} <${email}>`

/** A message as it stands in a commit. */
export const messageOf = (text: string): string => `${text.replaceAll("\0", "").trimEnd()}\n`

const plain = (text: string, fallback: string): string => {
  const cleaned = text.replace(/[<>\n\r\0]/g, " ").trim()
  return cleaned === "" ? fallback : cleaned
}

/** See `Git.commitTree`. */
export const commitTree = Effect.fnUntraced(function* (options: GitOptionsShape, request: InternalCommitRequest) {
  yield* requireTrusted(request.gitDir, request.tree, ...request.parents)
  const committer = request.committer ?? service
  const author = request.author ?? committer
  const date = `@${Math.floor(request.date.epochMillis / 1000)} +0000`
  const output = yield* git({
    args: ["commit-tree", ...request.parents.flatMap((parent) => ["-p", parent]), "-F", "-", request.tree],
    gitDir: request.gitDir,
    stdin: Buffer.from(messageOf(request.message)),
    env: {
      ...request.env,
      GIT_AUTHOR_NAME: plain(author.name, service.name),
      GIT_AUTHOR_EMAIL: plain(author.email, service.email),
      GIT_AUTHOR_DATE: date,
      GIT_COMMITTER_NAME: plain(committer.name, service.name),
      GIT_COMMITTER_EMAIL: plain(committer.email, service.email),
      GIT_COMMITTER_DATE: date
    },
    timeoutMs: options.localTimeoutMs
  })
  const commit = output.stdout.toString("utf8").trim()
  if (!isObjectId(commit)) return yield* notUnderstood("commit-tree")
  return request.sign === undefined ? commit : yield* signCommit(options, request.gitDir, commit, request.sign)
})

/** Writes a commit again, with a signature behind its committer. Each further line of a header stands behind a space. */
const signCommit = Effect.fnUntraced(function* (
  options: GitOptionsShape,
  gitDir: string,
  commit: string,
  sign: NonNullable<CommitRequest["sign"]>
) {
  const { localTimeoutMs: timeoutMs } = options
  const { stdout: content } = yield* git({ args: ["cat-file", "commit", commit], gitDir, timeoutMs })
  const end = content.indexOf("\n\n")
  if (end === -1) return yield* notUnderstood("cat-file")
  const signature = (yield* sign(content)).trimEnd().replaceAll("\n", "\n ")
  const signed = Buffer.concat([content.subarray(0, end), Buffer.from(`\ngpgsig ${signature}`), content.subarray(end)])
  const output = yield* git({
    args: ["hash-object", "-t", "commit", "-w", "--stdin"],
    gitDir,
    stdin: signed,
    timeoutMs
  })
  const id = output.stdout.toString("utf8").trim()
  return isObjectId(id) ? id : yield* notUnderstood("hash-object")
})

/** Fails unless a commit can be kept under the name. */
export const requireKeepName = (ref: string): Effect.Effect<void, GitError> =>
  isRefName(ref)
    ? Effect.void
    : new GitError({ kind: "internal", message: "The name to keep a commit under is not a valid ref name." })

/** See `Git.keep`. */
export const keepCommit = Effect.fnUntraced(function* (
  options: GitOptionsShape,
  request: { readonly gitDir: string; readonly ref: string; readonly commit: string }
) {
  yield* requireTrusted(request.gitDir, request.commit)
  yield* requireKeepName(request.ref)
  yield* git({
    args: ["update-ref", `refs/reins/${request.ref}`, request.commit],
    gitDir: request.gitDir,
    timeoutMs: options.localTimeoutMs
  })
  if ((yield* looseObjects(request.gitDir)).size > 0) yield* pruneLoose(options, request.gitDir)
})

/** Removes the single files of objects that are in a pack by now. A passing snapshot leaves objects as single files. */
export const pruneLoose = (options: GitOptionsShape, gitDir: string): Effect.Effect<void, GitError> =>
  Effect.asVoid(git({ args: ["prune-packed", "-q"], gitDir, timeoutMs: options.localTimeoutMs }))

/** The ids of the objects that are files of their own. These are not flushed to disk. */
export const looseObjects = (gitDir: string): Effect.Effect<ReadonlySet<string>, GitError> =>
  onDisk("The git directory cannot be read", async () => {
    const folders = (await readdir(join(gitDir, "objects"))).filter((name) => /^[0-9a-f]{2}$/.test(name))
    const found = await Promise.all(
      folders.map(async (folder) =>
        (await readdir(join(gitDir, "objects", folder)).catch(orPruned)).map((rest) => `${folder}${rest}`)
      )
    )
    return new Set(found.flat())
  })

/** git removes a folder whose last object it has just moved into a pack. */
const orPruned = (cause: unknown): ReadonlyArray<string> => {
  if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return []
  throw cause
}
