import { hash, randomBytes, timingSafeEqual } from "node:crypto"
import { Effect, Redacted } from "effect"

/** Makes a secret of 256 random bits, in url-safe characters. */
export const random: Effect.Effect<Redacted.Redacted> = Effect.sync(() =>
  Redacted.make(randomBytes(32).toString("base64url"))
)

/** The hash that is stored instead of a secret. It needs no salt and no cost, because the secret is too random to be guessed. */
export const digest = (token: Redacted.Redacted): string => hash("sha256", Redacted.value(token), "hex")

/** True for the text of a secret. The time does not tell how much of it is right. */
export const matches = (given: string, token: Redacted.Redacted): boolean => {
  const [left, right] = [Buffer.from(given), Buffer.from(Redacted.value(token))]
  return left.length === right.length && timingSafeEqual(left, right)
}
