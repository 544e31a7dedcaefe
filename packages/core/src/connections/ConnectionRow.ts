import type { ConnectionId, CredentialId, WorkspaceId } from "@reins/base/domain/Ids"
import { ReinsError } from "@reins/base/domain/ReinsError"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import type { Connection } from "./Connection.js"

/** A connection as it is stored, with its current credential. The columns of the credential are null once the connection is revoked. */
export interface ConnectionRow extends Omit<Connection, "settings" | "credential" | "prices"> {
  readonly id: ConnectionId
  readonly workspace_id: WorkspaceId
  /** JSON. */
  readonly settings: string
  /** `Prices` as JSON; null without prices. */
  readonly prices: string | null
  readonly credential_id: CredentialId | null
  readonly ordinal: number | null
  readonly fingerprint: string | null
  readonly last4: string | null
  readonly sealed: string | null
  readonly credential_created_at: Timestamp | null
}

/** The connection as callers see it. */
export const toConnection = (row: ConnectionRow): Connection => ({
  id: row.id,
  workspace_id: row.workspace_id,
  kind: row.kind,
  label: row.label,
  settings: JSON.parse(row.settings),
  state: row.state,
  health: row.health,
  preferred_model: row.preferred_model,
  prices: row.prices === null ? null : JSON.parse(row.prices),
  credential:
    row.credential_id === null || row.ordinal === null || row.fingerprint === null || row.credential_created_at === null
      ? null
      : {
          id: row.credential_id,
          ordinal: row.ordinal,
          fingerprint: row.fingerprint,
          last4: row.last4,
          created_at: row.credential_created_at
        },
  version: row.version,
  created_at: row.created_at,
  updated_at: row.updated_at
})

/** The refusal of a connection whose credentials are destroyed. */
export const revoked = (id: string): ReinsError<"connection_revoked"> =>
  new ReinsError({
    code: "connection_revoked",
    message: "The connection was revoked and its credentials destroyed. Create a new connection.",
    details: { connection_id: id }
  })

/** The refusal of a connection that is disabled. */
export const disabled = (id: string): ReinsError<"connection_required"> =>
  new ReinsError({
    code: "connection_required",
    message: "The connection is disabled. Enable it, or choose another one.",
    details: { connection_id: id }
  })
