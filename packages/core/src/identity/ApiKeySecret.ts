import { randomBytes } from "node:crypto"
import { crc32 } from "node:zlib"
import { Effect, Redacted } from "effect"

/** A new secret: `rk_`, 43 random base62 characters (256 bits) and the CRC-32 of all that as 6 base62 characters. */
export const make: Effect.Effect<Redacted.Redacted> = Effect.sync(() => {
  const body = `rk_${randomText(43)}`
  return Redacted.make(body + checksum(body))
})

/** Whether a text can be a secret, told without a look at what is stored. */
export const isWellFormed = (secret: Redacted.Redacted): boolean => {
  const text = Redacted.value(secret)
  return /^rk_[0-9A-Za-z]{49}$/.test(text) && text.endsWith(checksum(text.slice(0, -6)))
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** Bytes from 248 on are thrown away, so that every character is equally likely. */
const randomText = (length: number): string => {
  let text = ""
  while (text.length < length) {
    for (const byte of randomBytes(length)) if (byte < 248 && text.length < length) text += alphabet.charAt(byte % 62)
  }
  return text
}

const checksum = (text: string): string => {
  let rest = crc32(text)
  let digits = ""
  for (let place = 0; place < 6; place++) {
    digits = alphabet.charAt(rest % 62) + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}
