import { Data, type Effect, type Stream } from "effect"

/**
 * The reason that a blob was not stored or read.
 *
 * - `missing`: the store does not hold it.
 * - `damaged`: its content is not the one that its digest names. Nothing of it counts.
 * - `too_large`: this kind of store does not take so much. Another kind does.
 * - `full`: there is no space left. The operator has to make some.
 * - `refused`: the store does not accept the credentials or the request. The operator has to mend the setting.
 * - `unavailable`: the store does not answer, or cannot do it now. Worth a later try.
 */
export type BlobErrorReason = "missing" | "damaged" | "too_large" | "full" | "refused" | "unavailable"

/** The one error of `Blobs`. Its message is safe to show: it holds no credential, and ends with what to do next. */
export class BlobError extends Data.TaggedError("BlobError")<{
  readonly reason: BlobErrorReason
  readonly message: string
}> {}

/** One kind of store. It moves bytes and knows nothing of their meaning; `Blobs` compares them with their digests. */
export interface BlobStore {
  /** The most bytes that one blob may have. */
  readonly maxBytes: number
  /**
   * Stores a content under the hexadecimal digits of its digest. Readers see all of it or nothing, also after a crash. What was begun is taken back
   * when the content fails, and writing the same again changes nothing.
   */
  readonly write: (
    name: { readonly hex: string; readonly size: number },
    content: AsyncIterable<Uint8Array>
  ) => Effect.Effect<void, BlobError>
  /** The content in pieces of at most a few MiB. Fails with `missing` where there is none. */
  readonly read: (hex: string) => Stream.Stream<Uint8Array, BlobError>
  readonly has: (hex: string) => Effect.Effect<boolean, BlobError>
  /** Removes a content. One that is absent is no failure. */
  readonly remove: (hex: string) => Effect.Effect<void, BlobError>
}
