import { createHmac, randomBytes } from "node:crypto"
import { cutText } from "@reins/base/base/CutText"
import { Redacted } from "effect"

const prefix = "whsec_"

/** A new secret of 32 random bytes, in the form of Standard Webhooks. */
export const newSecret = (): Redacted.Redacted => Redacted.make(prefix + randomBytes(32).toString("base64"))

/** The headers by which a receiver knows a delivery. There is a signature for each secret; a receiver accepts any of them. */
export const signed = (
  secrets: ReadonlyArray<Redacted.Redacted>,
  { body, id, seconds }: { readonly id: string; readonly seconds: number; readonly body: string }
): Readonly<Record<string, string>> => ({
  "webhook-id": id,
  "webhook-timestamp": String(seconds),
  "webhook-signature": secrets.map((secret) => `v1,${signature(secret, `${id}.${seconds}.${body}`)}`).join(" ")
})

const signature = (secret: Redacted.Redacted, text: string): string =>
  createHmac("sha256", signingKey(secret)).update(text).digest("base64")

/** The bytes that a secret of Standard Webhooks signs with. */
export const signingKey = (secret: Redacted.Redacted): Uint8Array =>
  Buffer.from(Redacted.value(secret).slice(prefix.length), "base64")

/** A part of an answer that can be kept: bounded, without control characters, and without anything like a secret of ours. */
export const evidence = (answer: string): string =>
  cutText(
    cutText(answer, 4000)
      .replaceAll(/[\p{Cc}\ufffd]+/gu, " ")
      .replaceAll(/whsec_[\w+/=-]+|\bv1,[\w+/=-]{20,}/g, "[secret]"),
    1000
  )
