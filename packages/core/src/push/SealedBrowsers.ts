import type { SealedRecord } from "@reins/base/secrets/SealedRecords"
import { Effect } from "effect"
import type { Database } from "../store/Database.js"

interface SealedRow {
  readonly id: string
  readonly account_id: string
  readonly sealed: string
}

/** The record that the address and the keys of a browser are sealed for. */
export const browserContext = ({ account_id, id }: Pick<SealedRow, "account_id" | "id">): string =>
  `push|${account_id}|${id}`

/** The stored addresses and keys of browsers. */
export const pushRecords = ({ all, run, sql }: Database["Type"]): Effect.Effect<ReadonlyArray<SealedRecord>> =>
  Effect.map(all(sql<SealedRow>`select id, account_id, sealed from push_subscriptions order by id`), (rows) =>
    rows.map((row) => ({
      sealed: row.sealed,
      context: browserContext(row),
      replace: (again: string) =>
        run(sql`update push_subscriptions set sealed = ${again} where id = ${row.id} and sealed = ${row.sealed}`)
    }))
  )
