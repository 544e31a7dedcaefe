import { randomBytes } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { KeyRing } from "@reins/base/secrets/KeyRing"
import { Vault } from "@reins/base/secrets/Vault"
import { Effect, Layer, Redacted } from "effect"
import * as fc from "fast-check"

/** A vault whose ring holds the given keys, of which the first is the current one. */
const vaultWith = (...ids: ReadonlyArray<keyof typeof keys>) => {
  const [current = "k1"] = ids
  const ring = {
    current,
    keys: new Map(ids.map((id) => [id, keys[id]])),
    retired: new Map(),
    forgotten: new Set<string>()
  }
  return Effect.provide(Vault, Layer.provide(Vault.layer, KeyRing.layerOf(ring)))
}

const keys = { k1: randomBytes(32), k2: randomBytes(32) }

const secret = "sk-canary-öäü-🗝"

describe("Vault", () => {
  it.effect("a sealed text opens under its own context, and does not show the text", () =>
    Effect.gen(function* () {
      const vault = yield* vaultWith("k1")
      const sealed = yield* vault.seal(Redacted.make(secret), "credential|1")
      assert.strictEqual(Redacted.value(yield* vault.unseal(sealed, "credential|1")), secret)
      for (const form of [secret, Buffer.from(secret).toString("base64"), Buffer.from(secret).toString("hex")]) {
        assert.notInclude(sealed, form)
      }
      assert.strictEqual(Redacted.value(yield* vault.unseal(yield* vault.seal(Redacted.make(""), "c"), "c")), "")
    })
  )

  it.effect("one text is sealed differently each time", () =>
    Effect.gen(function* () {
      const vault = yield* vaultWith("k1")
      const seal = vault.seal(Redacted.make(secret), "c")
      const fields = (text: string): ReadonlyArray<unknown> => Object.values(JSON.parse(text))
      const [first, second] = [fields(yield* seal), fields(yield* seal)]
      assert.deepStrictEqual(
        first.filter((value) => second.includes(value)),
        [1, "k1"]
      )
    })
  )

  it.effect("a sealed text that was moved to another record does not open", () =>
    Effect.gen(function* () {
      const vault = yield* vaultWith("k1")
      const sealed = yield* vault.seal(Redacted.make(secret), "credential|1")
      const error = yield* Effect.flip(vault.unseal(sealed, "credential|2"))
      assert.strictEqual(error.reason, "not_authentic")
    })
  )

  it.effect("a sealed text of which any bit was changed does not open", () =>
    Effect.gen(function* () {
      const vault = yield* vaultWith("k1")
      const sealed = yield* vault.seal(Redacted.make(secret), "c")
      const parts: Record<string, string | number> = JSON.parse(sealed)
      const fields = ["wrapped_iv", "wrapped_key", "wrapped_tag", "iv", "text", "tag"]
      for (const field of fields) {
        const bytes = Buffer.from(String(parts[field]), "base64")
        for (let bit = 0; bit < bytes.length * 8; bit += 5) {
          const changed = Buffer.from(bytes)
          changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
          const forged = JSON.stringify({ ...parts, [field]: changed.toString("base64") })
          const error = yield* Effect.flip(vault.unseal(forged, "c"))
          assert.strictEqual(error.reason, "not_authentic", `${field} ${bit}`)
        }
        const short = JSON.stringify({ ...parts, [field]: bytes.subarray(0, 4).toString("base64") })
        assert.strictEqual((yield* Effect.flip(vault.unseal(short, "c"))).reason, "not_authentic", field)
      }
    })
  )

  it.effect("what is no sealed text is not authentic", () =>
    Effect.gen(function* () {
      const vault = yield* vaultWith("k1")
      for (const text of ["", "null", "{}", secret, '{"format":1}']) {
        assert.strictEqual((yield* Effect.flip(vault.unseal(text, "c"))).reason, "not_authentic")
      }
    })
  )

  it.effect("a text sealed with an old key opens as long as the key is in the ring", () =>
    Effect.gen(function* () {
      const sealed = yield* (yield* vaultWith("k1")).seal(Redacted.make(secret), "c")
      const rotated = yield* vaultWith("k2", "k1")
      assert.strictEqual(Redacted.value(yield* rotated.unseal(sealed, "c")), secret)
      const dropped = yield* vaultWith("k2")
      assert.strictEqual((yield* Effect.flip(dropped.unseal(sealed, "c"))).reason, "key_unknown")
    })
  )

  it.effect("a digest is good for its purpose and text, and with an old key too", () =>
    Effect.gen(function* () {
      const vault = yield* vaultWith("k1")
      const mac = vault.mac("csrf", "login 1")
      assert.strictEqual(vault.mac("csrf", "login 1"), mac)
      assert.isTrue(vault.verifyMac("csrf", "login 1", mac))
      assert.isFalse(vault.verifyMac("csrf", "login 2", mac))
      assert.isFalse(vault.verifyMac("idempotency", "login 1", mac))
      assert.isTrue((yield* vaultWith("k2", "k1")).verifyMac("csrf", "login 1", mac))
      assert.isFalse((yield* vaultWith("k2")).verifyMac("csrf", "login 1", mac))
      fc.assert(
        fc.property(fc.string(), (text) => {
          assert.strictEqual(vault.verifyMac("csrf", "login 1", text), text === mac)
          assert.isFalse(vault.verifyMac("csrf", "login 1", `k1.${text}`))
        })
      )
    })
  )
})
