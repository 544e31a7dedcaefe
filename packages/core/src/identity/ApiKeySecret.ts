import { randomBytes } from "node:crypto"
import { crc32 } from "node:zlib"
import { Effect, Redacted } from "effect"

/** Makes a secret: `rk_`, 43 random base62 characters (256 bits), and the CRC-32 of these 46 characters as 6 base62 characters. */
export const make: Effect.Effect<Redacted.Redacted> = Effect.sync(() => {
  const body = `rk_${randomText(43)}`
  return Redacted.make(body + checksum(body))
})

/** False for a text that no `make` has made. It is decided without the database. */
export const isWellFormed = (secret: Redacted.Redacted): boolean => {
  const text = Redacted.value(secret)
  return /^rk_[0-9A-Za-z]{49}$/.test(text) && text.endsWith(checksum(text.slice(0, -6)))
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** Drops the bytes from 248 on, because 62 divides 248: every character is then equally likely. */
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
