import { existsSync, statSync } from "node:fs"
import { Context, Effect, Either, Layer } from "effect"
import { type KeyRingUnusable, newRing, type Ring, readRing, writeRing } from "./KeyRingFile.js"

/**
 * The keys that seal provider credentials. They live in a file of mode 0600 outside the database, so that a copy of the database
 * alone opens nothing. Old keys stay in the ring for as long as something is sealed with them.
 */
export class KeyRing extends Context.Tag("@reins/core/secrets/KeyRing")<
  KeyRing,
  {
    readonly current: { readonly id: string; readonly key: Buffer }
    readonly find: (id: string) => Buffer | undefined
    /** All that the ring holds now. */
    readonly ring: () => Ring
    /** Writes the ring as changed. The caller sees to it that nobody else changes it at the same time. */
    readonly change: (change: (ring: Ring) => Ring) => Effect.Effect<void, KeyRingUnusable>
  }
>() {
  /**
   * The ring in a file, which is made with one new key when it is not there. The file is looked at once in each turn of the event loop
   * that uses the ring, and again for a key that is not in it, so that what another process changes is known then; while it cannot be
   * read, the keys that are known go on.
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

  /** A ring for as long as the layer lives, for tests. */
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

  static readonly layerMemory = Layer.unwrapEffect(Effect.sync(() => KeyRing.layerOf(newRing())))
}

/** `newest` is the ring for what the known one does not hold. */
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

/** Another one for each ring that is put in the place. */
const versionOf = (path: string): string => {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? "none" : `${stat.ino} ${stat.mtimeNs} ${stat.size}`
}
