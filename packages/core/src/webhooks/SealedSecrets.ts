import type { SealedRecord } from "@reins/base/secrets/SealedRecords"
import { Effect } from "effect"
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

/** The stored secrets of endpoints, also those that a newer one has replaced and that still count. */
export const webhookRecords = ({ all, run, sql }: Db): Effect.Effect<ReadonlyArray<SealedRecord>> =>
  Effect.map(
    all(sql<SealedRow>`select id, workspace_id, secret, previous_secret from webhook_endpoints order by id`),
    (rows) =>
      rows.flatMap((row) =>
        (["secret", "previous_secret"] as const).flatMap((column) => {
          const sealed = row[column]
          if (sealed === null) return []
          const replace = (again: string) =>
            run(
              sql`update webhook_endpoints set ${sql(column)} = ${again} where id = ${row.id} and ${sql(column)} = ${sealed}`
            )
          return [{ sealed, context: secretContext(row), replace }]
        })
      )
  )
