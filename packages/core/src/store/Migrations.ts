import { Migrator, SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { initial } from "./migrations/0001_initial.js"

const statements = (list: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const statement of list) yield* sql.unsafe(statement)
  })

const steps = {
  "0001_initial": statements(initial)
}

/** The number of the newest step of this release. */
export const schemaVersion = Object.keys(steps).length

/** Brings the schema up to date. Each step commits for itself; a database of a newer release is refused. */
export const migrate = Migrator.make({})({
  loader: Migrator.fromRecord(steps)
})
