import type { Redacted } from "effect"
import type { ConnectionId, CredentialId } from "../domain/Ids.js"

/** A connection with its secrets in the clear. Workers use it, and no answer to a caller may hold it. */
export interface OpenConnection {
  readonly id: ConnectionId
  readonly credentialId: CredentialId
  readonly kind: string
  readonly settings: Readonly<Record<string, string>>
  readonly secrets: Readonly<Record<string, Redacted.Redacted>>
  readonly preferredModel: string | null
}
