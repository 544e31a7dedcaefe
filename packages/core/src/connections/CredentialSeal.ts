import { Effect, Redacted, Schema } from "effect"
import { ReinsError } from "../domain/ReinsError.js"
import type { Vault } from "../secrets/Vault.js"

type Secrets = Readonly<Record<string, string>>

const SecretsJson = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.String }))

/** The context that a credential is sealed with. The sealed text opens for this connection and this version only. */
export const credentialContext = (connectionId: string, credentialId: string): string =>
  `credential|${connectionId}|${credentialId}`

/** The secrets of a credential, sealed for the database. */
export const sealSecrets = (
  vault: Vault["Type"],
  connectionId: string,
  credentialId: string,
  secrets: Secrets
): Effect.Effect<string> =>
  vault.seal(Redacted.make(JSON.stringify(secrets)), credentialContext(connectionId, credentialId))

/** The start of a MAC of the secrets under a key of the installation. It tells two credentials apart and reveals nothing about them. */
export const fingerprintOf = (vault: Vault["Type"], text: string): string =>
  vault.mac("credential fingerprint", text).split(".")[1]?.slice(0, 16) ?? ""

/** Opens the secrets of a credential. Fails with `credential_invalid` when no key of the installation opens them. */
export const openSecrets = (
  vault: Vault["Type"],
  connectionId: string,
  credentialId: string,
  sealed: string
): Effect.Effect<Readonly<Record<string, Redacted.Redacted>>, ReinsError<"credential_invalid">> =>
  vault.unseal(sealed, credentialContext(connectionId, credentialId)).pipe(
    Effect.mapError(
      ({ reason }) =>
        new ReinsError({
          code: "credential_invalid",
          message:
            reason === "key_unknown"
              ? "The credential is sealed with a key that is not in this server's key ring. Restore that key, or give the credential again."
              : "The stored credential cannot be opened. Give it again with a new credential version.",
          details: { connection_id: connectionId }
        })
    ),
    Effect.map((text) => {
      const secrets: Secrets = Schema.decodeSync(SecretsJson)(Redacted.value(text))
      return Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, Redacted.make(value)]))
    })
  )
