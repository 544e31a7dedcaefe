import { createHash } from "node:crypto"
import { Effect } from "effect"
import { service, signatureOf } from "../../repository/Commit.js"
import type { RawChange } from "../../repository/read/Changes.js"
import type { Digests } from "../../repository/read/Digests.js"
import { git, noObject } from "../../repository/run/GitCommand.js"
import { GitError } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"

/** Stores contents as git blobs. A blob may stay in memory until `TreeWriter.commit`. */
export interface BlobWriter {
  /** The id of the blob with this content. A regular file comes with its path (latin1). */
  readonly put: (bytes: Buffer, path?: string) => Effect.Effect<string, GitError>
}

/** Stores blobs many at a time, and the commit that holds them. Nothing is stored for certain before `commit`. */
export interface TreeWriter extends BlobWriter {
  /** The digests of the contents that were stored for certain. Git refuses a content that was made to have the id of another one. */
  readonly digests: Digests
  /** Stores every blob that was put, and the commit of the changes on top of `base` (null: as the first commit). */
  readonly commit: (request: {
    readonly base: string | null
    /** The name below `refs/reins` that pins the commit. Nothing does without one. */
    readonly keepAs?: string
    readonly message: string
    readonly changes: ReadonlyArray<RawChange>
  }) => Effect.Effect<{ readonly commit: string; readonly tree: string }, GitError>
}

const pendingLimit = 32 * 1024 * 1024

/** The id that git gives to this content. */
export const blobId = (bytes: Uint8Array): string =>
  createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex")

/** The digest `sha256:<hex>` of a content. */
const contentDigest = (bytes: Uint8Array): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`

const quoted = (latin1: string): string =>
  `"${latin1.replace(/[^ !#-[\]-~]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`)}"`

const changeLine = ({ newId, newMode, path }: RawChange): string =>
  newId === noObject ? `D ${quoted(path)}\n` : `M ${newMode} ${newId} ${quoted(path)}\n`

// Without a name to pin it by, the last command removes the ref again, so nothing points at the commit. Removals come first, so that a file may take the
// place of a folder.
const commitCommands = ({ base, changes, keepAs, message }: Parameters<TreeWriter["commit"]>[0]): string => {
  const name = `refs/reins/${keepAs ?? "snapshot"}`
  const removed = changes.filter(({ newId }) => newId === noObject)
  const written = changes.filter(({ newId }) => newId !== noObject)
  return [
    // The first commit has no parent, also where the name is that of an earlier one.
    ...(base === null ? [`reset ${name}\n\n`] : []),
    `commit ${name}\nmark :1\ncommitter ${signatureOf(service)} 0 +0000\n`,
    `data ${Buffer.byteLength(message)}\n${message}\n`,
    ...(base === null ? [] : [`from ${base}\n`]),
    ...[...removed, ...written].map(changeLine),
    `ls ""\n\nget-mark :1\n`,
    ...(keepAs === undefined ? [`reset ${name}\nfrom ${noObject}\n\n`] : [])
  ].join("")
}

const told = /^040000 tree ([0-9a-f]{40})\t\n([0-9a-f]{40})\n/

async function* importStream(blobs: ReadonlyArray<Buffer>, commands: string) {
  for (const blob of blobs) {
    yield Buffer.from(`blob\ndata ${blob.length}\n`)
    yield blob
    yield Buffer.from("\n")
  }
  yield Buffer.from(`${commands}done\n`)
}

/**
 * A writer into `gitDir`. A content whose id is `known` is there already and is not stored again. With `isDurable` all of it is on disk for
 * certain after `commit`, in one pack, which takes one flush rather than one for each object.
 */
export const makeBlobWriter = (
  options: GitOptionsShape,
  gitDir: string,
  { isDurable, known }: { readonly known: Set<string>; readonly isDurable: boolean }
): Effect.Effect<TreeWriter> =>
  Effect.gen(function* () {
    const digests = new Map<string, string>()
    const one = yield* Effect.makeSemaphore(1)
    let pending: Array<Buffer> = []
    let pendingBytes = 0

    const store = (commands: string) =>
      one.withPermits(1)(
        Effect.suspend(() => {
          const blobs = pending
          pending = []
          pendingBytes = 0
          return git({
            args: ["fast-import", "--quiet", "--done", "--date-format=raw", "--force"],
            gitDir,
            settings: isDurable ? ["fastimport.unpackLimit=0"] : [],
            stdin: importStream(blobs, commands),
            timeoutMs: options.localTimeoutMs
          })
        })
      )

    const put = (bytes: Buffer) =>
      Effect.suspend(() => {
        const id = blobId(bytes)
        if (known.has(id)) return Effect.succeed(id)
        known.add(id)
        if (isDurable) digests.set(id, contentDigest(bytes))
        pending.push(bytes)
        pendingBytes += bytes.length
        return pendingBytes > pendingLimit ? Effect.as(store(""), id) : Effect.succeed(id)
      })

    const commit: TreeWriter["commit"] = (request) =>
      Effect.flatMap(store(commitCommands(request)), ({ stdout }) => {
        const [, tree, id] = told.exec(stdout.toString("latin1")) ?? []
        return tree === undefined || id === undefined
          ? Effect.fail(
              new GitError({
                kind: "internal",
                message: "git did not say which tree it wrote: try again, and report it if it fails the same way."
              })
            )
          : Effect.succeed({ commit: id, tree })
      })

    return { put, commit, digests }
  })
