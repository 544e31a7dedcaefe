import { createHash } from "node:crypto"
import type { BlobAddress } from "@reins/base/base/BlobAddress"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { once } from "@reins/base/base/Once"
import { fn } from "@reins/base/base/Traced"
import { Context, Effect, Layer, Stream } from "effect"
import { BlobError, type BlobStore } from "./BlobStore.js"
import { Database } from "./Database.js"

/** A content by its digest `sha256:<hex>`, with its size in bytes. */
export interface BlobName {
  readonly digest: string
  readonly size: number
}

/** Contents that outlive the machine that wrote them, each under its digest. A content never changes. */
export class Blobs extends Context.Tag("@reins/core/store/Blobs")<
  Blobs,
  {
    /**
     * Stores a content, unless it is there. Fails with `damaged` and stores nothing when the stream does not give the content that the name
     * tells, and with the failure of the stream.
     */
    readonly put: <E>(name: BlobName, content: Stream.Stream<Uint8Array, E>) => Effect.Effect<void, BlobError | E>
    /** The content of a blob. The stream fails at its end with `damaged` unless all of it was what the digest names. */
    readonly get: (digest: string) => Stream.Stream<Uint8Array, BlobError>
    readonly has: (digest: string) => Effect.Effect<boolean, BlobError>
    /** Deletes a blob. One that is absent is no failure. */
    readonly delete: (digest: string) => Effect.Effect<void, BlobError>
  }
>() {
  /** Blobs in a store. */
  static readonly make = (store: BlobStore) =>
    Blobs.of({
      put: fn("Blobs.put")((name, content) => put(store, name, content)),
      get: (digest) => verified(digest, Stream.unwrap(Effect.map(hexOf(digest), (hex) => store.read(hex)))),
      has: fn("Blobs.has")((digest) => Effect.flatMap(hexOf(digest), (hex) => store.has(hex))),
      delete: fn("Blobs.delete")((digest) => Effect.flatMap(hexOf(digest), (hex) => store.remove(hex)))
    })

  /** The store at an address. Each kind is loaded when it is used. */
  static readonly layerAt = (address: BlobAddress) =>
    Layer.effect(
      Blobs,
      Effect.gen(function* () {
        const db = yield* Database
        return Blobs.make(deferred(yield* once(storeAt(address, db))))
      })
    )

  /** The store that the configuration names, which must name one. */
  static readonly layer = Layer.unwrapEffect(
    Effect.map(CoreConfig, ({ blobs }) =>
      blobs === null ? Layer.die("the configuration names no store of blobs") : Blobs.layerAt(blobs)
    )
  )
}

const storeAt = (address: BlobAddress, db: Database["Type"]): Effect.Effect<BlobStore> =>
  Effect.promise(async () => {
    if (address.kind === "directory") return (await import("./BlobDirectory.js")).blobDirectory(address.path)
    if (address.kind === "postgres") return (await import("./BlobTable.js")).blobTable(db)
    return (await import("./BlobBucket.js")).blobBucket(address, process.env)
  })

/** A store that is made at its first use. */
const deferred = (store: Effect.Effect<BlobStore>): BlobStore => ({
  // The store itself is asked for its bound when it has been made.
  maxBytes: Number.POSITIVE_INFINITY,
  write: (name, content) => Effect.flatMap(store, (made) => checked(made, name.size, made.write(name, content))),
  read: (hex) => Stream.unwrap(Effect.map(store, (made) => made.read(hex))),
  has: (hex) => Effect.flatMap(store, (made) => made.has(hex)),
  remove: (hex) => Effect.flatMap(store, (made) => made.remove(hex))
})

const checked = ({ maxBytes }: BlobStore, size: number, write: Effect.Effect<void, BlobError>) =>
  size > maxBytes ? Effect.fail(tooLarge(size, maxBytes)) : write

const digestPattern = /^sha256:([0-9a-f]{64})$/

/** The digits of a digest. They become part of a path, so nothing else may pass. */
const hexOf = (digest: string): Effect.Effect<string, BlobError> => {
  const [, hex] = digestPattern.exec(digest) ?? []
  return hex === undefined
    ? Effect.fail(
        new BlobError({ reason: "missing", message: "A blob is named by sha256: and 64 hexadecimal digits." })
      )
    : Effect.succeed(hex)
}

const damaged = (digest: string) =>
  new BlobError({
    reason: "damaged",
    message: `The content of ${digest} is not what its digest names: look at the store of blobs, and restore it from a copy.`
  })

const tooLarge = (size: number, maxBytes: number) =>
  new BlobError({
    reason: "too_large",
    message:
      `A part of a snapshot has ${size} bytes, and this store takes ${maxBytes} in one: keep blobs in a directory that all machines share or ` +
      "in S3 (REINS_BLOBS)."
  })

const put = <E>(store: BlobStore, { digest, size }: BlobName, content: Stream.Stream<Uint8Array, E>) =>
  Effect.gen(function* () {
    const hex = yield* hexOf(digest)
    if (yield* store.has(hex)) return
    const failures: Array<BlobError | E> = []
    const noted = Stream.tapError(verified(digest, content, size), (error) => Effect.sync(() => failures.push(error)))
    yield* checked(store, size, store.write({ hex, size }, Stream.toAsyncIterable(noted))).pipe(
      // The store sees only that the content has ended. The reason is that of the content.
      Effect.mapError((error) => failures[0] ?? error)
    )
  })

/** The same content, which fails at its end unless it is the one that the digest names. */
const verified = <E>(digest: string, content: Stream.Stream<Uint8Array, E>, size?: number) =>
  Stream.suspend(() => {
    const hash = createHash("sha256")
    let seen = 0
    const check = Stream.suspend(() =>
      `sha256:${hash.digest("hex")}` === digest && (size === undefined || seen === size)
        ? Stream.empty
        : Stream.fail(damaged(digest))
    )
    const counted = Stream.tap(content, (piece) =>
      Effect.sync(() => {
        hash.update(piece)
        seen += piece.length
      })
    )
    return Stream.concat(counted, check)
  })
