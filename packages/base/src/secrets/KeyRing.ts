import { existsSync, statSync } from "node:fs"
import { Context, Effect, Either, Layer } from "effect"
import { type KeyRingUnusable, newRing, type Ring, readRing, writeRing } from "./KeyRingFile.js"

// A ring that is kept elsewhere has this shape and fails in this way.
export { KeyRingUnusable, type Ring } from "./KeyRingFile.js"

/**
 * The keys that seal provider credentials. They are kept outside the database, so that a copy of the database alone opens nothing. Old keys
 * stay in the ring while something is sealed with them.
 */
export class KeyRing extends Context.Tag("@reins/core/secrets/KeyRing")<
  KeyRing,
  {
    /** The key that seals from now on. */
    readonly current: { readonly id: string; readonly key: Buffer }
    /** The key of that id. Undefined when the ring does not hold it. */
    readonly find: (id: string) => Buffer | undefined
    /** The whole ring as it is now. */
    readonly ring: () => Ring
    /** Changes the ring. The caller prevents other changes at the same time. */
    readonly change: (change: (ring: Ring) => Ring) => Effect.Effect<void, KeyRingUnusable>
  }
>() {
  /**
   * The ring in a file of mode 0600. A file that does not exist is made with one new key. The file is checked once in each turn of the event
   * loop that uses the ring, and again when a key is not found, so that the changes of other processes are seen. While the file cannot be
   * read, the keys read before stay in use.
   */
  static readonly layerFile = (path: string) =>
    Layer.effect(
      KeyRing,
      Effect.gen(function* () {
        if (!existsSync(path)) yield* writeRing(path, newRing(), true)
        let seen = versionOf(path)
        let known = yield* readRing(path)
        let isFresh = false
        const look = (): Ring => {
          const version = versionOf(path)
          const read = version === seen ? undefined : readRing(path)
          if (read !== undefined && Either.isRight(read)) {
            known = read.right
            seen = version
          }
          return known
        }
        const lookOnce = (): Ring => {
          if (isFresh) return known
          isFresh = true
          setImmediate(() => {
            isFresh = false
          })
          return look()
        }
        return of(
          lookOnce,
          (change) => Effect.flatMap(readRing(path), (ring) => Effect.map(writeRing(path, change(ring)), look)),
          look
        )
      })
    )

  /** A ring in memory, for tests. */
  static readonly layerOf = (given: Ring) =>
    Layer.sync(KeyRing, () => {
      let ring = given
      return of(
        () => ring,
        (change) =>
          Effect.sync(() => {
            ring = change(ring)
          })
      )
    })

  /** A ring in memory with one new key, for tests. */
  static readonly layerMemory = Layer.unwrapEffect(Effect.sync(() => KeyRing.layerOf(newRing())))
}

/** `newest` gives the ring to search for a key that `ring` does not hold. */
const of = (ring: () => Ring, change: KeyRing["Type"]["change"], newest = ring): KeyRing["Type"] =>
  KeyRing.of({
    get current() {
      const { current, keys } = ring()
      const key = keys.get(current)
      if (key === undefined) throw new Error("a ring without its current key")
      return { id: current, key }
    },
    find: (id) => ring().keys.get(id) ?? newest().keys.get(id),
    ring,
    change
  })

/** The version of a file. It changes whenever another file takes its place. */
const versionOf = (path: string): string => {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? "none" : `${stat.ino} ${stat.mtimeNs} ${stat.size}`
}
