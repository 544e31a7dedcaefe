import type { ConnectionId, CredentialId } from "@reins/base/domain/Ids"
import type { Redacted } from "effect"
import type { Prices } from "./Prices.js"

/** A connection with its secrets in the clear. Workers use it, and no answer to a caller may hold it. */
export interface OpenConnection {
  /** The connection that the principal chose. */
  readonly id: ConnectionId
  /** The version of the credential that was opened. Another one may have taken its place since. */
  readonly credentialId: CredentialId
  /** As `ConnectionKind.kind` names it. */
  readonly kind: string
  /** The fields of the credential that callers may read again. */
  readonly settings: Readonly<Record<string, string>>
  /** The other fields of the credential, each in the clear within its wrapping. */
  readonly secrets: Readonly<Record<string, Redacted.Redacted>>
  /** The model of sessions that name none, which a probe may try; null when nobody has chosen one. */
  readonly preferredModel: string | null
  /** The prices of the models of its gateway; empty when nobody has said them. */
  readonly prices: Prices
}
