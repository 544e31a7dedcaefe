import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual
} from "node:crypto"
import { Context, Data, Effect, Layer, Option, Redacted, Schema } from "effect"
import { fn } from "../base/Traced.js"
import { KeyRing } from "./KeyRing.js"

/** A sealed text as it is stored: a data key wrapped with a key of the ring, and the text under that data key (AES-256-GCM). */
const Sealed = Schema.parseJson(
  Schema.Struct({
    format: Schema.Literal(1),
    key_id: Schema.String,
    wrapped_iv: Schema.String,
    wrapped_key: Schema.String,
    wrapped_tag: Schema.String,
    iv: Schema.String,
    text: Schema.String,
    tag: Schema.String
  })
)

/** The sealed text was changed, belongs to another record, or its key is no longer in the ring. */
export class UnsealFailed extends Data.TaggedError("UnsealFailed")<{
  readonly reason: "key_unknown" | "not_authentic"
}> {}

/** Seals texts that must not be readable in the database, and makes digests that nobody else can make. */
export class Vault extends Context.Tag("@reins/core/secrets/Vault")<
  Vault,
  {
    /** Seals a secret with the current key. `context` names its record, and the secret opens only under the same context. */
    readonly seal: (secret: Redacted.Redacted, context: string) => Effect.Effect<string>
    /** The secret that was sealed under this context. */
    readonly unseal: (sealed: string, context: string) => Effect.Effect<Redacted.Redacted, UnsealFailed>
    /** The same secret under the current key, with its data key wrapped anew. A text under the current key comes back unchanged. */
    readonly rewrap: (sealed: string, context: string) => Effect.Effect<string, UnsealFailed>
    /** A keyed digest for one purpose, as `<key id>.<base64url>`. */
    readonly mac: (purpose: string, text: string) => string
    /** True when `mac` made the digest for the same purpose and text, with a key that is still in the ring. */
    readonly verifyMac: (purpose: string, text: string, mac: string) => boolean
  }
>() {
  static readonly layer = Layer.effect(
    Vault,
    Effect.gen(function* () {
      const ring = yield* KeyRing
      const macWith = (key: Buffer, purpose: string, text: string) =>
        createHmac("sha256", macKeyOf(key, purpose)).update(text).digest("base64url")
      /** Wraps a data key with the current key of the ring. */
      const wrap = (dataKey: Buffer, context: string) => {
        const { id, key } = ring.current
        const { iv, tag, text } = encrypt(key, dataKey, `${context}|${id}`)
        return { format: 1 as const, key_id: id, wrapped_iv: iv, wrapped_key: text, wrapped_tag: tag }
      }
      const unwrap = Effect.fnUntraced(function* (sealed: string, context: string) {
        const record = yield* Effect.mapError(
          Schema.decodeUnknown(Sealed)(sealed),
          () => new UnsealFailed({ reason: "not_authentic" })
        )
        const key = ring.find(record.key_id)
        if (key === undefined) return yield* new UnsealFailed({ reason: "key_unknown" })
        const wrapped = { iv: record.wrapped_iv, text: record.wrapped_key, tag: record.wrapped_tag }
        const dataKey = decrypt(key, wrapped, `${context}|${record.key_id}`)
        if (Option.isNone(dataKey)) return yield* new UnsealFailed({ reason: "not_authentic" })
        return { dataKey: dataKey.value, record }
      })

      return Vault.of({
        seal: (secret, context) =>
          Effect.sync(() => {
            const dataKey = randomBytes(32)
            const { iv, tag, text } = encrypt(dataKey, Buffer.from(Redacted.value(secret), "utf8"), context)
            return Schema.encodeSync(Sealed)({ ...wrap(dataKey, context), iv, text, tag })
          }),
        unseal: fn("Vault.unseal")(function* (sealed, context) {
          const { dataKey, record } = yield* unwrap(sealed, context)
          const text = decrypt(dataKey, record, context)
          if (Option.isNone(text)) return yield* new UnsealFailed({ reason: "not_authentic" })
          return Redacted.make(text.value.toString("utf8"))
        }),
        rewrap: fn("Vault.rewrap")(function* (sealed, context) {
          const { dataKey, record } = yield* unwrap(sealed, context)
          if (record.key_id === ring.current.id) return sealed
          return Schema.encodeSync(Sealed)({ ...record, ...wrap(dataKey, context) })
        }),
        mac: (purpose, text) => {
          const { id, key } = ring.current
          return `${id}.${macWith(key, purpose, text)}`
        },
        verifyMac: (purpose, text, mac) => {
          const [id = "", digest = ""] = mac.split(".")
          const key = ring.find(id)
          if (key === undefined) return false
          const expected = Buffer.from(macWith(key, purpose, text))
          const given = Buffer.from(digest)
          return expected.length === given.length && timingSafeEqual(expected, given)
        }
      })
    })
  )
}

/** The keys of digests by the key of the ring that they are derived from, and by purpose. They go when that key goes. */
const macKeys = new WeakMap<Buffer, Map<string, KeyObject>>()

const macKeyOf = (key: Buffer, purpose: string): KeyObject => {
  const known = macKeys.get(key) ?? new Map<string, KeyObject>()
  macKeys.set(key, known)
  const derived =
    known.get(purpose) ?? createSecretKey(Buffer.from(hkdfSync("sha256", key, "", `reins mac ${purpose}`, 32)))
  known.set(purpose, derived)
  return derived
}

/** The id of the key that a text is sealed with. Undefined for a text that is not sealed. */
export const sealedWith = (sealed: string): string | undefined =>
  Option.getOrUndefined(Option.map(Schema.decodeOption(Sealed)(sealed), (record) => record.key_id))

interface Encrypted {
  readonly iv: string
  readonly text: string
  readonly tag: string
}

const encrypt = (key: Buffer, text: Buffer, context: string): Encrypted => {
  const iv = randomBytes(12)
  const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(context, "utf8"))
  const body = Buffer.concat([cipher.update(text), cipher.final()])
  return { iv: iv.toString("base64"), text: body.toString("base64"), tag: cipher.getAuthTag().toString("base64") }
}

const decrypt = (key: Buffer, sealed: Encrypted, context: string): Option.Option<Buffer> =>
  Option.liftThrowable(() => {
    const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(sealed.iv, "base64"), { authTagLength: 16 })
      .setAAD(Buffer.from(context, "utf8"))
      .setAuthTag(Buffer.from(sealed.tag, "base64"))
    return Buffer.concat([decipher.update(Buffer.from(sealed.text, "base64")), decipher.final()])
  })()
