import { createWriteStream } from "node:fs"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { Effect, Stream } from "effect"
import { attempt } from "../../files/Beneath.js"
import type { RestoreEar, SnapshotError } from "./TreeSnapshots.js"

/** Brings a blob into a file, which is complete and checked when this has succeeded. */
export const fetchBlob = Effect.fnUntraced(function* (
  { digest }: { readonly digest: string },
  file: string,
  { blob }: Pick<RestoreEar, "blob">
) {
  const failures: Array<SnapshotError> = []
  const content = Stream.tapError(blob(digest), (error) => Effect.sync(() => failures.push(error)))
  yield* attempt(file, () =>
    pipeline(Readable.from(Stream.toAsyncIterable(content)), createWriteStream(file, { flags: "wx", mode: 0o600 }))
  ).pipe(Effect.mapError((error) => failures[0] ?? error))
  return file
})
