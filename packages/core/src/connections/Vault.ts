import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto"
import { Context, Data, Effect, Layer, Option, Redacted, Schema } from "effect"
import { KeyRing } from "./KeyRing.js"

/** What is stored of a sealed text: a data key wrapped by a key of the ring, and the text under that data key (AES-256-GCM). */
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

/** Seals what must not be readable in the database, and makes the keyed digests that need no secrecy but must not be forged. */
export class Vault extends Context.Tag("@reins/core/connections/Vault")<
  Vault,
  {
    /** `context` names the record that the secret belongs to; it opens under the same context only. */
    readonly seal: (secret: Redacted.Redacted, context: string) => Effect.Effect<string>
    readonly unseal: (sealed: string, context: string) => Effect.Effect<Redacted.Redacted, UnsealFailed>
    /** A keyed digest for one purpose, as `<key id>.<base64url>`. */
    readonly mac: (purpose: string, text: string) => string
    /** Whether a digest was made by `mac` for the same purpose and text, with any key still in the ring. */
    readonly verifyMac: (purpose: string, text: string, mac: string) => boolean
  }
>() {
  static readonly layer = Layer.effect(
    Vault,
    Effect.gen(function* () {
      const ring = yield* KeyRing
      const macWith = (key: Buffer, purpose: string, text: string) =>
        createHmac("sha256", Buffer.from(hkdfSync("sha256", key, "", `reins mac ${purpose}`, 32)))
          .update(text)
          .digest("base64url")
      return Vault.of({
        seal: (secret, context) =>
          Effect.sync(() => {
            const dataKey = randomBytes(32)
            const wrapped = encrypt(ring.current.key, dataKey, `${context}|${ring.current.id}`)
            const body = encrypt(dataKey, Buffer.from(Redacted.value(secret), "utf8"), context)
            return Schema.encodeSync(Sealed)({
              format: 1,
              key_id: ring.current.id,
              wrapped_iv: wrapped.iv,
              wrapped_key: wrapped.text,
              wrapped_tag: wrapped.tag,
              iv: body.iv,
              text: body.text,
              tag: body.tag
            })
          }),
        unseal: Effect.fn("Vault.unseal")(function* (sealed, context) {
          const record = yield* Effect.mapError(
            Schema.decodeUnknown(Sealed)(sealed),
            () => new UnsealFailed({ reason: "not_authentic" })
          )
          const key = ring.find(record.key_id)
          if (key === undefined) return yield* new UnsealFailed({ reason: "key_unknown" })
          const text = decrypt(
            key,
            { iv: record.wrapped_iv, text: record.wrapped_key, tag: record.wrapped_tag },
            `${context}|${record.key_id}`
          ).pipe(Option.flatMap((dataKey) => decrypt(dataKey, record, context)))
          if (Option.isNone(text)) return yield* new UnsealFailed({ reason: "not_authentic" })
          return Redacted.make(text.value.toString("utf8"))
        }),
        mac: (purpose, text) => `${ring.current.id}.${macWith(ring.current.key, purpose, text)}`,
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
