import { Effect, ParseResult, type Schema } from "effect"
import { type ConnectionKind, credentialInputs, publicCredentialFields } from "../domain/Connection.js"
import { RequestInvalid } from "../domain/RequestInvalid.js"

/** A credential in two: what may be read again, and what is sealed. */
export interface CredentialParts {
  readonly settings: Readonly<Record<string, string>>
  readonly secrets: Readonly<Record<string, string>>
  readonly last4: string | null
  readonly fingerprintOf: string
}

/** Checks a credential against its kind and parts what may be read again from what is sealed. */
export const partsOf = (kind: ConnectionKind, credential: unknown): Effect.Effect<CredentialParts, RequestInvalid> =>
  ParseResult.decodeUnknown<Readonly<Record<string, string | undefined>>, unknown, never>(inputOf(kind), {
    errors: "all"
  })(credential).pipe(
    Effect.mapError((issue) => new RequestInvalid({ loc: ["body", "credential"], issue, input: credential })),
    Effect.map((input) => {
      const entries = Object.entries(input).filter((entry): entry is [string, string] => entry[1] !== undefined)
      const secrets = Object.fromEntries(entries.filter(([name]) => !publicCredentialFields.has(name)))
      const [main] = Object.values(secrets)
      return {
        settings: Object.fromEntries(entries.filter(([name]) => publicCredentialFields.has(name))),
        secrets,
        // Four characters of a short secret would give much of it away.
        last4: main !== undefined && main.length >= 16 ? main.slice(-4) : null,
        fingerprintOf: JSON.stringify(secrets)
      }
    })
  )

// Each member of the record decodes to an object of texts; the union of their types is wider than the compiler can use here.
const inputOf = (kind: ConnectionKind) =>
  credentialInputs[kind] as Schema.Schema<Readonly<Record<string, string | undefined>>, unknown>
