import type { SealedRecord } from "@reins/base/secrets/SealedRecords"
import { Effect } from "effect"
import type { Database } from "../store/Database.js"

interface Owned {
  readonly id: string
  readonly workspace_id: string
}

/** The record that a secret of a hook is sealed for. */
export const hookSecretContext = ({ id, workspace_id }: Owned): string => `hook|${workspace_id}|${id}`

/** The record that the bodies of a hook are sealed for. */
export const hookBodyContext = ({ id, workspace_id }: Owned): string => `hook_body|${workspace_id}|${id}`

interface SealedRow extends Owned {
  readonly secret: string
  readonly previous_secret: string | null
}

/**
 * The stored secrets of hooks, also those that a newer one has replaced and that still count. The bodies of receipts are not among them: they live for 7
 * days, and one whose key is gone is not replayed.
 */
export const hookRecords = ({ all, run, sql }: Database["Type"]): Effect.Effect<ReadonlyArray<SealedRecord>> =>
  Effect.map(all(sql<SealedRow>`select id, workspace_id, secret, previous_secret from hooks order by id`), (rows) =>
    rows.flatMap((row) =>
      (["secret", "previous_secret"] as const).flatMap((column) => {
        const sealed = row[column]
        if (sealed === null) return []
        const replace = (again: string) =>
          run(sql`update hooks set ${sql(column)} = ${again} where id = ${row.id} and ${sql(column)} = ${sealed}`)
        return [{ sealed, context: hookSecretContext(row), replace }]
      })
    )
  )
