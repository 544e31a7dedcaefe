import { Effect } from "effect"
import type { SealedRecord } from "../secrets/SealedRecords.js"
import type { Database } from "../store/Database.js"
import { credentialContext, type SealedFor } from "./CredentialSeal.js"

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
