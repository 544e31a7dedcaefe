import { Effect, Option } from "effect"
import type { SealedRecord } from "../secrets/SealedRecords.js"
import type { Vault } from "../secrets/Vault.js"
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

/**
 * Seals the credentials of older releases for their whole record, each once. A credential that cannot be opened stays as it is. Each statement
 * is a commit of its own, so that the work can stop anywhere and be repeated.
 */
export const bind = Effect.fnUntraced(function* (db: Db, vault: Vault["Type"]) {
  for (const { is_bound, sealed, ...row } of yield* sealedCredentials(db)) {
    if (is_bound === 1) continue
    const secret = yield* Effect.option(vault.unseal(sealed, `credential|${row.connection_id}|${row.id}`))
    if (Option.isNone(secret)) continue
    const bound = yield* vault.seal(secret.value, credentialContext(sealedFor(row)))
    yield* db.run(db.sql`update credentials set sealed = ${bound}, is_bound = 1
      where id = ${row.id} and sealed = ${sealed}`)
  }
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
  db.all(db.sql<SealedRow & { sealed: string; is_bound: number }>`
    select credentials.id, connection_id, sealed, is_bound, workspace_id, kind, settings
    from credentials join connections on connections.id = credentials.connection_id
    where sealed is not null order by credentials.id`)
