import { hash, randomBytes } from "node:crypto"
import { Effect, Redacted } from "effect"

/** A new secret of 256 random bits, in url-safe characters. */
export const random: Effect.Effect<Redacted.Redacted> = Effect.sync(() =>
  Redacted.make(randomBytes(32).toString("base64url"))
)

/** What is stored of a secret. A plain hash is enough for one that is too random to be guessed. */
export const digest = (token: Redacted.Redacted): string => hash("sha256", Redacted.value(token), "hex")
