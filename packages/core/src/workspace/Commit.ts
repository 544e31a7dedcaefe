import { join } from "node:path"
import { type DateTime, Effect } from "effect"
import { git } from "./GitCommand.js"
import { GitError } from "./GitError.js"
import type { GitOptionsShape } from "./GitOptions.js"
import { isRefName } from "./RefName.js"
import { requireTrusted } from "./Repository.js"

export interface CommitRequest {
  readonly gitDir: string
  readonly tree: string
  readonly parents: ReadonlyArray<string>
  readonly message: string
  /** Author and committer time, in whole seconds: part of the commit's identity. */
  readonly date: DateTime.Utc
  /** Default: Reins <reins@localhost>. The committer is always Reins. */
  readonly author?: { readonly name: string; readonly email: string }
}

/** A commit whose tree may lie in another object store, which `env` names. */
interface InternalCommitRequest extends CommitRequest {
  readonly env?: Readonly<Record<string, string>>
}

const service = { name: "Reins", email: "reins@localhost" }

const plain = (text: string, fallback: string): string => {
  const cleaned = text.replace(/[<>\n\r\0]/g, " ").trim()
  return cleaned === "" ? fallback : cleaned
}

/** See `Git.commitTree`. */
export const commitTree = Effect.fnUntraced(function* (options: GitOptionsShape, request: InternalCommitRequest) {
  yield* requireTrusted(request.gitDir, request.tree, ...request.parents)
  const author = request.author ?? service
  const date = `@${Math.floor(request.date.epochMillis / 1000)} +0000`
  const output = yield* git({
    args: ["commit-tree", ...request.parents.flatMap((parent) => ["-p", parent]), "-F", "-", request.tree],
    gitDir: request.gitDir,
    stdin: Buffer.from(`${request.message.replaceAll("\0", "").trimEnd()}\n`),
    env: {
      ...request.env,
      GIT_AUTHOR_NAME: plain(author.name, service.name),
      GIT_AUTHOR_EMAIL: plain(author.email, service.email),
      GIT_AUTHOR_DATE: date,
      GIT_COMMITTER_NAME: service.name,
      GIT_COMMITTER_EMAIL: service.email,
      GIT_COMMITTER_DATE: date
    },
    timeoutMs: options.localTimeoutMs
  })
  return output.stdout.toString("utf8").trim()
})

// One pack with one flush to disk, in place of a flush for each small file; it also keeps the object folders small.
const packUp = (options: GitOptionsShape, gitDir: string, commit: string) =>
  Effect.zipRight(
    git({
      args: ["pack-objects", "-q", "--unpacked", "--non-empty", join(gitDir, "objects", "pack", "pack")],
      gitDir,
      stdin: Buffer.from(`${commit}^!\n`),
      timeoutMs: options.localTimeoutMs
    }),
    git({ args: ["prune-packed", "-q"], gitDir, timeoutMs: options.localTimeoutMs })
  )

/** See `Git.keep`. */
export const keep = Effect.fnUntraced(function* (
  options: GitOptionsShape,
  request: { readonly gitDir: string; readonly ref: string; readonly commit: string }
) {
  yield* requireTrusted(request.gitDir, request.commit)
  if (!isRefName(request.ref)) {
    return yield* new GitError({
      kind: "internal",
      message: "The name to keep a commit under is not a valid ref name."
    })
  }
  yield* packUp(options, request.gitDir, request.commit)
  yield* git({
    args: ["update-ref", `refs/reins/${request.ref}`, request.commit],
    gitDir: request.gitDir,
    timeoutMs: options.localTimeoutMs
  })
})
