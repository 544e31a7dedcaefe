import type { SealedRecord } from "@reins/base/secrets/SealedRecords"
import type { Vault } from "@reins/base/secrets/Vault"
import { Effect, Option, type Redacted } from "effect"
import type { Database } from "../store/Database.js"
import { credentialContext, openSecrets, type SealedFor } from "./CredentialSeal.js"

type Db = Database["Type"]

/** The stored credentials that are not destroyed. */
export const credentialRecords = (db: Db): Effect.Effect<ReadonlyArray<SealedRecord>> =>
  Effect.map(sealedCredentials(db), (rows) =>
    rows.map(({ id, sealed, ...row }) => ({
      sealed,
      context: credentialContext(sealedFor({ id, ...row })),
      replace: (again: string) =>
        db.run(db.sql`update credentials set sealed = ${again} where id = ${id} and sealed = ${sealed}`)
    }))
  )

/** Every secret of the connections of a workspace, but for those that no key of the installation opens. */
export const openCredentials = Effect.fnUntraced(function* (db: Db, vault: Vault["Type"], workspaceId: string) {
  const rows = yield* db.all(db.sql<SealedRow & { sealed: string }>`
    select credentials.id, connection_id, sealed, workspace_id, kind, settings
    from credentials join connections on connections.id = credentials.connection_id
    where sealed is not null and workspace_id = ${workspaceId} order by credentials.id`)
  const opened = yield* Effect.forEach(rows, ({ sealed, ...row }) =>
    Effect.option(openSecrets(vault, sealedFor(row), sealed))
  )
  return opened.flatMap(
    (secrets): ReadonlyArray<Redacted.Redacted> => Object.values(Option.getOrElse(secrets, () => ({})))
  )
})

interface SealedRow {
  readonly id: string
  readonly connection_id: string
  readonly workspace_id: string
  readonly kind: string
  readonly settings: string
}

const sealedFor = ({ connection_id, id, kind, settings, workspace_id }: SealedRow): SealedFor => ({
  workspaceId: workspace_id,
  connectionId: connection_id,
  credentialId: id,
  kind,
  settings
})

const sealedCredentials = (db: Db) =>
  db.all(db.sql<SealedRow & { sealed: string }>`
    select credentials.id, connection_id, sealed, workspace_id, kind, settings
    from credentials join connections on connections.id = credentials.connection_id
    where sealed is not null order by credentials.id`)
