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
    /** The key that seals now, with its id. */
    readonly current: { readonly id: string; readonly key: Buffer }
    /** A key that is still in the ring; undefined for one that is not. */
    readonly find: (id: string) => Buffer | undefined
    /** All that the ring holds now. */
    readonly ring: () => Ring
    /** Writes the ring as changed. The caller sees to it that nobody else changes it at the same time. */
    readonly change: (change: (ring: Ring) => Ring) => Effect.Effect<void, KeyRingUnusable>
  }
>() {
  /**
   * The ring in a file, which is made with one new key when it is not there. A ring that another process changes is read again before
   * its next use; while that fails, the keys that are known go on.
   */
  static readonly layerFile = (path: string) =>
    Layer.effect(
      KeyRing,
      Effect.gen(function* () {
        if (!existsSync(path)) yield* writeRing(path, newRing(), true)
        let seen = versionOf(path)
        let known = yield* readRing(path)
        return of(
          () => {
            const version = versionOf(path)
            if (version !== seen) {
              const read = readRing(path)
              if (Either.isRight(read)) {
                known = read.right
                seen = version
              }
            }
            return known
          },
          (change) => Effect.flatMap(readRing(path), (ring) => writeRing(path, change(ring)))
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

  /** A ring of one new key for as long as the layer lives, for tests. */
  static readonly layerMemory = Layer.unwrapEffect(Effect.sync(() => KeyRing.layerOf(newRing())))
}

const of = (ring: () => Ring, change: KeyRing["Type"]["change"]): KeyRing["Type"] =>
  KeyRing.of({
    get current() {
      const { current, keys } = ring()
      const key = keys.get(current)
      if (key === undefined) throw new Error("a ring without its current key")
      return { id: current, key }
    },
    find: (id) => ring().keys.get(id),
    ring,
    change
  })

/** Another one for each ring that is put in the place. */
const versionOf = (path: string): string => {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? "none" : `${stat.ino} ${stat.mtimeNs} ${stat.size}`
}
