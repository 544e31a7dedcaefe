import type { Redacted } from "effect"
import type { ConnectionId, CredentialId } from "../domain/Ids.js"

/** A connection ready to be used: what is readable of it, and its secrets in the clear. It is for workers and never for an answer. */
export interface OpenConnection {
  readonly id: ConnectionId
  readonly credentialId: CredentialId
  readonly kind: string
  readonly settings: Readonly<Record<string, string>>
  readonly secrets: Readonly<Record<string, Redacted.Redacted>>
  readonly preferredModel: string | null
}
