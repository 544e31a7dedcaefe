import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Effect } from "effect"
import type { ConnectionKind } from "./ConnectionKind.js"

/** A credential in two parts. The settings may be read again, and the secrets are sealed. */
export interface CredentialParts {
  readonly settings: Readonly<Record<string, string>>
  readonly secrets: Readonly<Record<string, string>>
  readonly last4: string | null
  readonly fingerprintOf: string
}

/** Checks a credential against its kind and separates the settings from the secrets. */
export const partsOf = (kind: ConnectionKind, credential: unknown): Effect.Effect<CredentialParts, RequestInvalid> =>
  kind.credential(credential).pipe(
    Effect.mapError((issue) => new RequestInvalid({ loc: ["body", "credential"], issue, input: credential })),
    Effect.map((input) => {
      const entries = Object.entries(input).filter((entry): entry is [string, string] => entry[1] !== undefined)
      const secrets = Object.fromEntries(entries.filter(([name]) => !kind.settings.has(name)))
      return {
        settings: Object.fromEntries(entries.filter(([name]) => kind.settings.has(name))),
        secrets,
        ...marksOf(secrets)
      }
    })
  )

/** The parts of secrets that may be shown or compared: the last characters, and the text that the fingerprint is made of. */
export const marksOf = (secrets: CredentialParts["secrets"]): Pick<CredentialParts, "last4" | "fingerprintOf"> => {
  const [main] = Object.values(secrets)
  return {
    // Four characters would give away much of a short secret, and the end of a key in PEM tells keys not apart.
    last4: main !== undefined && main.length >= 16 && !main.startsWith("-----BEGIN") ? main.slice(-4) : null,
    fingerprintOf: JSON.stringify(secrets)
  }
}
