import { Effect, Option } from "effect"
import { sealedWith, type Vault } from "../secrets/Vault.js"
import type { Database } from "../store/Database.js"

type Db = Database["Type"]

/** The record that a secret of an endpoint is sealed for. */
export const secretContext = (endpoint: { readonly id: string; readonly workspace_id: string }): string =>
  `webhook|${endpoint.workspace_id}|${endpoint.id}`

interface SealedRow {
  readonly id: string
  readonly workspace_id: string
  readonly secret: string
  readonly previous_secret: string | null
}

const rows = (db: Db) =>
  db.all(db.sql<SealedRow>`select id, workspace_id, secret, previous_secret from webhook_endpoints order by id`)

const keysOf = ({ previous_secret, secret }: SealedRow): ReadonlyArray<string> =>
  [secret, previous_secret ?? ""].flatMap((sealed) => sealedWith(sealed) ?? [])

/** The ids of the keys that secrets of endpoints are sealed with. */
export const keyIds = (db: Db): Effect.Effect<ReadonlyArray<string>> =>
  Effect.map(rows(db), (found) => [...new Set(found.flatMap(keysOf))].sort())

/** The number of endpoints with a secret that is sealed with a key. */
export const countKeyedBy = (db: Db, keyId: string): Effect.Effect<number> =>
  Effect.map(rows(db), (found) => found.filter((row) => keysOf(row).includes(keyId)).length)

/** Seals the secrets with the current key of the ring and gives the number of those that had another key. */
export const rewrap = Effect.fnUntraced(function* (db: Db, vault: Vault["Type"]) {
  let count = 0
  for (const row of yield* rows(db)) {
    for (const column of ["secret", "previous_secret"] as const) {
      const sealed = row[column]
      if (sealed === null) continue
      const again = yield* Effect.option(vault.rewrap(sealed, secretContext(row)))
      if (Option.isNone(again) || again.value === sealed) continue
      // A secret that was replaced meanwhile is left alone.
      yield* db.run(db.sql`update webhook_endpoints set ${db.sql(column)} = ${again.value}
        where id = ${row.id} and ${db.sql(column)} = ${sealed}`)
      count++
    }
  }
  return count
})
