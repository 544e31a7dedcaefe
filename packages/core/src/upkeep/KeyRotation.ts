import { Context, Data, Effect, Layer, Option } from "effect"
import { credentialContext } from "../connections/CredentialSeal.js"
import { fromMillis, now, type Timestamp, toMillis } from "../domain/Timestamp.js"
import { LoginSessions } from "../identity/LoginSessions.js"
import { KeyRing } from "../secrets/KeyRing.js"
import { type KeyRingUnusable, withNewKey, without } from "../secrets/KeyRingFile.js"
import { sealedWith, Vault } from "../secrets/Vault.js"
import { Database } from "../store/Database.js"
import { Idempotency } from "../store/Idempotency.js"

/** What still needs an old key. A `recent` one may be in the hands of a request that has not ended. */
export interface KeyUse {
  readonly id: string
  readonly credentials: number
  readonly answers: number
  readonly logins: number
  readonly recent: boolean
}

export interface RotationReport {
  readonly current: string
  /** Secrets that were sealed with an old key before. */
  readonly rewrapped: number
  readonly removed: ReadonlyArray<string>
  readonly kept: ReadonlyArray<KeyUse>
}

/** Stored credentials are sealed with keys that the ring does not hold. */
export class KeysMissing extends Data.TaggedError("KeysMissing")<{ readonly ids: ReadonlyArray<string> }> {
  override get message() {
    const ids = this.ids.join(", ")
    return (
      `Credentials are sealed with the key ${ids}, which is not in the key ring. Put the right key ring in its place (REINS_KEY_FILE, ` +
      `or keyring.json in the data directory). If it is lost, give those credentials up: reins keyring forget ${this.ids.join(" ")}; ` +
      "each of their connections then needs its credential again."
    )
  }
}

/** A key is removed at the earliest this long after it sealed its last: whatever took it in hand before has ended. */
const handMs = 60 * 60 * 1000

/**
 * Brings a new key into use and old ones out of it. Secrets keep their data keys, which are wrapped anew one by one, so it can be broken
 * off anywhere and done again. Servers that run see the new ring at their next use of it. One rotation of a ring at a time.
 */
export class KeyRotation extends Context.Tag("@reins/core/upkeep/KeyRotation")<
  KeyRotation,
  {
    /** Makes a new current key, and `prune`s. */
    readonly rotate: Effect.Effect<RotationReport, KeyRingUnusable>
    /** Seals everything with the current key, and removes the old keys that nothing needs any more. */
    readonly prune: Effect.Effect<RotationReport, KeyRingUnusable>
  }
>() {
  static readonly layer = Layer.effect(
    KeyRotation,
    Effect.gen(function* () {
      const db = yield* Database
      const ring = yield* KeyRing
      const vault = yield* Vault
      const idempotency = yield* Idempotency
      const logins = yield* LoginSessions

      const rewrapCredentials = Effect.gen(function* () {
        const rows = yield* sealedCredentials(db)
        const changed = yield* Effect.forEach(rows, (row) =>
          Effect.gen(function* () {
            const sealed = yield* Effect.option(vault.rewrap(row.sealed, credentialContext(row.connection_id, row.id)))
            if (Option.isNone(sealed) || sealed.value === row.sealed) return 0
            yield* db.run(
              db.sql`update credentials set sealed = ${sealed.value} where id = ${row.id} and sealed = ${row.sealed}`
            )
            return 1
          })
        )
        return changed.filter((count) => count === 1).length
      })

      const useOf = Effect.fnUntraced(function* (id: string, retiredAt: Timestamp | undefined) {
        const at = yield* now
        const last = retiredAt === undefined ? fromMillis(0) : fromMillis(toMillis(retiredAt) + handMs)
        const sealed = yield* sealedCredentials(db)
        const use: KeyUse = {
          id,
          credentials: sealed.filter((row) => sealedWith(row.sealed) === id).length,
          answers: yield* idempotency.countKeyedBy(id),
          // The CSRF token of a login is made with the key of its day.
          logins: yield* logins.countBegunBefore(last),
          recent: last >= at
        }
        return use
      })

      const prune = Effect.gen(function* () {
        const rewrapped = (yield* rewrapCredentials) + (yield* idempotency.rewrap)
        const { current, keys, retired } = ring.ring()
        const old = [...keys.keys()].filter((id) => id !== current)
        const uses = yield* Effect.forEach(old, (id) => useOf(id, retired.get(id)))
        const kept = uses.filter((use) => use.recent || use.credentials + use.answers + use.logins > 0)
        const removed = old.filter((id) => !kept.some((use) => use.id === id))
        if (removed.length > 0) yield* ring.change((now) => without(now, new Set(removed)))
        return { current, rewrapped, removed, kept }
      }).pipe(Effect.withSpan("KeyRotation.prune"))

      return KeyRotation.of({
        rotate: Effect.gen(function* () {
          const at = yield* now
          yield* ring.change((before) => withNewKey(before, at))
          return yield* prune
        }).pipe(Effect.withSpan("KeyRotation.rotate")),
        prune
      })
    })
  )
}

/** Fails when a stored credential is sealed with a key that is neither in the ring nor given up. */
export const requireKeys = Layer.effectDiscard(
  Effect.gen(function* () {
    const db = yield* Database
    const { forgotten, keys } = (yield* KeyRing).ring()
    const used = new Set((yield* sealedCredentials(db)).flatMap(({ sealed }) => sealedWith(sealed) ?? []))
    const ids = [...used].filter((id) => !keys.has(id) && !forgotten.has(id)).sort()
    if (ids.length > 0) return yield* new KeysMissing({ ids })
  })
)

const sealedCredentials = (db: Database["Type"]) =>
  db.all(db.sql<{ id: string; connection_id: string; sealed: string }>`
  select id, connection_id, sealed from credentials where sealed is not null order by id`)
