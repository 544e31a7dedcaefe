import { Effect } from "effect"
import * as SealedCredentials from "../connections/SealedCredentials.js"
import * as ProjectSecrets from "../projects/ProjectSecretStore.js"
import type { SealedRecord } from "../secrets/SealedRecords.js"
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

const records = ({ all, run, sql }: Db): Effect.Effect<ReadonlyArray<SealedRecord>> =>
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

/**
 * Every sealed value of the installation that is not an answer to a request: the credentials of connections, and the secrets of projects and of
 * webhook endpoints.
 */
export const everySealed = (db: Db): Effect.Effect<ReadonlyArray<SealedRecord>> =>
  Effect.map(
    Effect.all([SealedCredentials.credentialRecords(db), ProjectSecrets.secretRecords(db), records(db)]),
    (all) => all.flat()
  )
