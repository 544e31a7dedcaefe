import { createHash } from "node:crypto"
import { Effect } from "effect"
import { git } from "./GitCommand.js"
import type { GitError } from "./GitError.js"
import type { GitOptionsShape } from "./GitOptions.js"

/** Stores contents as git blobs, many at a time. Nothing is stored for certain before `flush`. */
export interface BlobWriter {
  /** The id of the blob with this content. */
  readonly put: (bytes: Buffer) => Effect.Effect<string, GitError>
  readonly flush: Effect.Effect<void, GitError>
}

const pendingLimit = 32 * 1024 * 1024

/** The id that git gives to this content. */
export const blobId = (bytes: Uint8Array): string =>
  createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex")

async function* importStream(blobs: ReadonlyArray<Buffer>) {
  for (const blob of blobs) {
    yield Buffer.from(`blob\ndata ${blob.length}\n`)
    yield blob
    yield Buffer.from("\n")
  }
  yield Buffer.from("done\n")
}

/** A writer into `gitDir`; contents whose id is `known` are there already and are not stored again. */
export const makeBlobWriter = (
  options: GitOptionsShape,
  gitDir: string,
  known: Set<string>
): Effect.Effect<BlobWriter> =>
  Effect.gen(function* () {
    const one = yield* Effect.makeSemaphore(1)
    let pending: Array<Buffer> = []
    let pendingBytes = 0

    const flush = one.withPermits(1)(
      Effect.suspend(() => {
        const blobs = pending
        pending = []
        pendingBytes = 0
        return blobs.length === 0
          ? Effect.void
          : Effect.asVoid(
              git({
                args: ["fast-import", "--quiet", "--done"],
                gitDir,
                stdin: importStream(blobs),
                timeoutMs: options.localTimeoutMs
              })
            )
      })
    )

    const put = (bytes: Buffer) =>
      Effect.suspend(() => {
        const id = blobId(bytes)
        if (known.has(id)) return Effect.succeed(id)
        known.add(id)
        pending.push(bytes)
        pendingBytes += bytes.length
        return pendingBytes > pendingLimit ? Effect.as(flush, id) : Effect.succeed(id)
      })

    return { put, flush }
  })
