import { ascendFrom } from "@reins/base/domain/Ids"
import { Effect, Layer } from "effect"
import { Database } from "./Database.js"

/**
 * Lets new ids begin above the stored ones, in every table that has ids. Lists and "the newest of" go by id, and the clock may have been ahead
 * when the stored ids were made.
 */
export const layerOf = (tables: ReadonlyArray<string>) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const db = yield* Database
      const query = tables.map((table) => `select max(id) as id from ${table}`).join(" union all ")
      const rows = yield* db.all(db.sql.unsafe<{ id: string | null }>(query))
      yield* Effect.forEach(rows, ({ id }) => (id === null ? Effect.void : ascendFrom(id)), { discard: true })
    })
  )
