import { createHash, randomBytes } from "node:crypto"
import { assert, layer as suite } from "@effect/vitest"
import type { BlobError } from "@reins/core/store/BlobStore"
import { Blobs } from "@reins/core/store/Blobs"
import { Chunk, Effect, type Layer, Stream } from "effect"

/** The name of a content. */
export const nameOf = (bytes: Uint8Array) => ({
  digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
  size: bytes.length
})

/** A content as a stream of uneven pieces. */
export const streamOf = (bytes: Uint8Array, pieceBytes = 100_001) =>
  Stream.fromIterable(
    Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, at) =>
      bytes.subarray(at * pieceBytes, (at + 1) * pieceBytes)
    )
  )

/** The whole content of a blob. */
export const contentOf = (digest: string) =>
  Effect.flatMap(Blobs, (blobs) =>
    Effect.map(Stream.runCollect(blobs.get(digest)), (pieces) => Buffer.concat(Chunk.toReadonlyArray(pieces)))
  )

const reasonOf = <A>(effect: Effect.Effect<A, BlobError, Blobs>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason)

/**
 * The promises of `Blobs`, for one kind of store. `harm` changes the bytes that the store keeps under the digits of a digest, behind its back.
 */
export const blobSuite = <R>(
  name: string,
  store: Layer.Layer<Blobs | R>,
  harm: (hex: string) => Effect.Effect<void, never, R>
): void =>
  suite(store, { excludeTestServices: true })(`blobs in ${name}`, (it) => {
    for (const size of [0, 1, 1024 * 1024, 20 * 1024 * 1024 + 7])
      it.effect(`gives back ${size} bytes as they were`, () =>
        Effect.gen(function* () {
          const blobs = yield* Blobs
          const bytes = randomBytes(size)
          const blob = nameOf(bytes)
          assert.isFalse(yield* blobs.has(blob.digest))
          yield* blobs.put(blob, streamOf(bytes))
          assert.isTrue(yield* blobs.has(blob.digest))
          assert.isTrue(bytes.equals(yield* contentOf(blob.digest)))
          yield* blobs.delete(blob.digest)
          assert.isFalse(yield* blobs.has(blob.digest))
          assert.strictEqual(yield* reasonOf(contentOf(blob.digest)), "missing")
          yield* blobs.delete(blob.digest)
        })
      )

    it.effect("keeps nothing of a content that is not what its name tells, or that breaks off", () =>
      Effect.gen(function* () {
        const blobs = yield* Blobs
        const [bytes, other] = [randomBytes(300_000), randomBytes(300_000)]
        const blob = nameOf(bytes)
        assert.strictEqual(yield* reasonOf(blobs.put(blob, streamOf(other))), "damaged")
        assert.strictEqual(yield* reasonOf(blobs.put(blob, streamOf(bytes.subarray(1)))), "damaged")
        assert.strictEqual(yield* reasonOf(blobs.put({ ...blob, size: 1 }, streamOf(bytes))), "damaged")
        const broken = Stream.concat(streamOf(bytes), Stream.fail("no more" as const))
        assert.strictEqual(yield* Effect.flip(blobs.put(blob, broken)), "no more")
        assert.isFalse(yield* blobs.has(blob.digest))
      })
    )

    it.effect("keeps nothing of a large content that breaks off", () =>
      Effect.gen(function* () {
        const blobs = yield* Blobs
        const bytes = randomBytes(17 * 1024 * 1024)
        const broken = Stream.concat(streamOf(bytes), Stream.fail("no more" as const))
        assert.strictEqual(yield* Effect.flip(blobs.put(nameOf(bytes), broken)), "no more")
        assert.isFalse(yield* blobs.has(nameOf(bytes).digest))
      })
    )

    it.effect("says that a content was damaged behind its back", () =>
      Effect.gen(function* () {
        const blobs = yield* Blobs
        const bytes = randomBytes(5_000)
        const { digest } = nameOf(bytes)
        yield* blobs.put(nameOf(bytes), streamOf(bytes))
        yield* harm(digest.slice("sha256:".length))
        assert.strictEqual(yield* reasonOf(contentOf(digest)), "damaged")
      })
    )

    it.effect("takes the same content from many at once", () =>
      Effect.gen(function* () {
        const blobs = yield* Blobs
        const bytes = randomBytes(400_000)
        const put = blobs.put(nameOf(bytes), streamOf(bytes))
        yield* Effect.all(
          Array.from({ length: 6 }, () => put),
          { concurrency: "unbounded" }
        )
        assert.isTrue(bytes.equals(yield* contentOf(nameOf(bytes).digest)))
      })
    )

    it.effect("takes no name that is no digest, whatever path it leads to", () =>
      Effect.gen(function* () {
        const blobs = yield* Blobs
        for (const digest of ["", "sha256:../../etc/passwd", `sha256:${"A".repeat(64)}`, `md5:${"a".repeat(64)}`]) {
          assert.strictEqual(yield* reasonOf(contentOf(digest)), "missing")
          assert.strictEqual(yield* reasonOf(blobs.put({ digest, size: 0 }, Stream.empty)), "missing")
        }
      })
    )
  })
