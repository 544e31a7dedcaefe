import { fromMillis, now, type Timestamp, toMillis } from "@reins/base/domain/Timestamp"
import { KeyRing } from "@reins/base/secrets/KeyRing"
import { type KeyRingUnusable, withNewKey, without } from "@reins/base/secrets/KeyRingFile"
import * as SealedRecords from "@reins/base/secrets/SealedRecords"
import { Vault } from "@reins/base/secrets/Vault"
import { Context, Data, Effect, Layer } from "effect"
import { LoginStore } from "../identity/LoginStore.js"
import { agree, agreedOn } from "../store/Agreements.js"
import { Database } from "../store/Database.js"
import { Idempotency } from "../store/Idempotency.js"
import type { SealedValues } from "../store/SealedValues.js"

/** The uses that keep an old key in the ring. */
export interface KeyUse {
  readonly id: string
  /** The number of stored credentials, and of secrets of projects and webhook endpoints, that the key seals. */
  readonly credentials: number
  /** The number of stored answers that the key seals or signs. */
  readonly answers: number
  /** The number of logins whose CSRF token the key may have made. */
  readonly logins: number
  /** True within an hour after the key was the current one, because a request that began with it may still run. */
  readonly recent: boolean
}

/** The state of the ring after a rotation. Keys are named by their ids. */
export interface RotationReport {
  readonly current: string
  /** The number of secrets that were sealed with an old key before. */
  readonly rewrapped: number
  readonly removed: ReadonlyArray<string>
  readonly kept: ReadonlyArray<KeyUse>
}

/** Stored credentials are sealed with keys that the ring does not hold. `message` says what the operator can do. */
export class KeysMissing extends Data.TaggedError("KeysMissing")<{ readonly ids: ReadonlyArray<string> }> {
  override get message() {
    const ids = this.ids.join(", ")
    return (
      `Credentials are sealed with the key ${ids}, which is not in the key ring. Put the right key ring in its place (REINS_KEY_FILE, ` +
      `or keyring.json in the data directory). If it is lost, give those credentials up: reins keyring forget ${this.ids.join(" ")}; ` +
      "each of their connections then needs its credential again, and each webhook endpoint a new secret."
    )
  }
}

/** The database was sealed with another key ring. `message` says what the operator can do. */
export class KeyRingForeign extends Data.TaggedError("KeyRingForeign")<{ readonly id: string }> {
  override get message() {
    return (
      `The database belongs to another key ring, whose current key is ${this.id}: copy the keyring.json of the machine that has it into the ` +
      "place of the key ring of this one (REINS_KEY_FILE, or keyring.json in the data directory), and start again. If it is lost, give its " +
      `credentials up: reins keyring forget ${this.id}.`
    )
  }
}

/** An old key stays for at least so many milliseconds, so that every request that began with it has ended. */
const handMs = 60 * 60 * 1000

/**
 * Brings a new key into use and removes old ones. Secrets keep their data keys, which are wrapped anew one by one, so a rotation can stop
 * anywhere and be repeated. A running server uses the new ring from its next use on. The caller allows one rotation of a ring at a time.
 */
export class KeyRotation extends Context.Tag("@reins/core/upkeep/KeyRotation")<
  KeyRotation,
  {
    /** Makes a new current key, and does what `prune` does. */
    readonly rotate: Effect.Effect<RotationReport, KeyRingUnusable>
    /** Seals everything with the current key, and removes the old keys that nothing needs. */
    readonly prune: Effect.Effect<RotationReport, KeyRingUnusable>
  }
>() {
  /** `sealed` reads every sealed value of the installation that is not an answer to a request. */
  static readonly layerOf = (sealed: SealedValues) =>
    Layer.effect(
      KeyRotation,
      Effect.gen(function* () {
        const db = yield* Database
        const ring = yield* KeyRing
        const vault = yield* Vault
        const idempotency = yield* Idempotency
        const logins = yield* LoginStore

        const useOf = Effect.fnUntraced(function* (id: string, retiredAt: Timestamp | undefined) {
          const at = yield* now
          const last = retiredAt === undefined ? fromMillis(0) : fromMillis(toMillis(retiredAt) + handMs)
          const use: KeyUse = {
            id,
            credentials: SealedRecords.countKeyedBy(yield* sealed(db), id),
            answers: yield* idempotency.countKeyedBy(id),
            // The CSRF token of a login is made with the key that is current when the login begins.
            logins: yield* logins.countBegunBefore(last),
            recent: last >= at
          }
          return use
        })

        const prune = Effect.gen(function* () {
          const rewrapped = (yield* SealedRecords.rewrap(yield* sealed(db), vault)) + (yield* idempotency.rewrap)
          const { current, keys, retired } = ring.ring()
          const old = [...keys.keys()].filter((id) => id !== current)
          const uses = yield* Effect.forEach(old, (id) => useOf(id, retired.get(id)))
          const kept = uses.filter((use) => use.recent || use.credentials + use.answers + use.logins > 0)
          const removed = old.filter((id) => !kept.some((use) => use.id === id))
          // Another machine learns from it that its ring is out of date, before any of its keys is gone.
          if (db.dialect === "pg") yield* agree(db, "key_ring", proofOf(vault))
          if (removed.length > 0) yield* ring.change((present) => without(present, new Set(removed)))
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

/** A digest that only a ring with the current key makes. It reveals nothing of the key. */
const proofOf = (vault: Vault["Type"]): string => vault.mac(proven, proven)
const proven = "key ring"

/**
 * Finds out with which ring the machines of an installation seal. Each has a file of its own, so a second machine that made a fresh ring would
 * seal what the first cannot open. On SQLite there is one machine.
 */
const requireSameRing = Effect.gen(function* () {
  const db = yield* Database
  const { forgotten } = (yield* KeyRing).ring()
  const vault = yield* Vault
  if (db.dialect !== "pg") return
  const stood = yield* agreedOn(db, "key_ring", proofOf(vault))
  if (vault.verifyMac(proven, proven, stood)) return
  const [id = ""] = stood.split(".")
  if (!forgotten.has(id)) return yield* new KeyRingForeign({ id })
  yield* agree(db, "key_ring", proofOf(vault))
})

/**
 * Fails when a stored credential is sealed with a key that is neither in the ring nor given up, and when the other machines of the installation
 * seal with a key that is neither.
 */
export const requireKeys = (sealed: SealedValues) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const db = yield* Database
      const { forgotten, keys } = (yield* KeyRing).ring()
      const ids = SealedRecords.keyIds(yield* sealed(db)).filter((id) => !keys.has(id) && !forgotten.has(id))
      if (ids.length > 0) return yield* new KeysMissing({ ids })
      yield* requireSameRing
    })
  )
