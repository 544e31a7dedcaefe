import { canonicalJson } from "@reins/base/base/CanonicalJson"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { sealedWith, type Vault } from "@reins/base/secrets/Vault"
import { Effect, Redacted, Schema } from "effect"

type Secrets = Readonly<Record<string, string>>

const SecretsJson = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.String }))

/** The record that a credential is sealed for. */
export interface SealedFor {
  readonly workspaceId: string
  readonly connectionId: string
  readonly credentialId: string
  readonly kind: string
  /** The settings of the connection, as JSON. They say where the secrets go. */
  readonly settings: string
}

/**
 * The context that a credential is sealed with. The sealed text opens for this version of this connection only, and only while its workspace,
 * its kind and its settings are the same, so that no change of a row leads a secret to another host or to another tenant.
 */
export const credentialContext = ({ connectionId, credentialId, kind, settings, workspaceId }: SealedFor): string =>
  canonicalJson(["credential", workspaceId, connectionId, credentialId, kind, JSON.parse(settings)])

/** The secrets of a credential, sealed for the database. */
export const sealSecrets = (vault: Vault["Type"], sealedFor: SealedFor, secrets: Secrets): Effect.Effect<string> =>
  vault.seal(Redacted.make(JSON.stringify(secrets)), credentialContext(sealedFor))

/** The start of a MAC of the secrets under a key of the installation. It tells two credentials apart and reveals nothing about them. */
export const credentialFingerprint = (vault: Vault["Type"], text: string): string =>
  vault.mac("credential fingerprint", text).split(".")[1]?.slice(0, 16) ?? ""

/** Opens the secrets of a credential. Fails with `credential_invalid` when no key of the installation opens them. */
export const openSecrets = (
  vault: Vault["Type"],
  sealedFor: SealedFor,
  sealed: string
): Effect.Effect<Readonly<Record<string, Redacted.Redacted>>, ReinsError<"credential_invalid">> =>
  vault.unseal(sealed, credentialContext(sealedFor)).pipe(
    Effect.mapError(
      ({ reason }) =>
        new ReinsError({
          code: "credential_invalid",
          message:
            reason === "key_unknown"
              ? `The credential is sealed with the key ${sealedWith(sealed)}, which is not in the key ring of this server: copy the keyring.json of the ` +
                "machine on which the keys were rotated into its place, where it is taken up at once. If that key is lost, give the credential again."
              : "The stored credential cannot be opened. Give it again with a new credential version.",
          details: { connection_id: sealedFor.connectionId }
        })
    ),
    Effect.map((text) => {
      const secrets: Secrets = Schema.decodeSync(SecretsJson)(Redacted.value(text))
      return Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, Redacted.make(value)]))
    })
  )
