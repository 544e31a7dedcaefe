import { readdirSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import * as DatabaseFile from "@reins/core/store/DatabaseFile"
import { databaseFile } from "@reins/core/store/DataDirectory"
import { filesHolding } from "@reins/testing/harness/Turns"
import { Effect } from "effect"

/** The rows of all tables that have a text in any column. */
export const rowsHolding = Effect.fnUntraced(function* (text: string) {
  const db = yield* Database
  const { sql } = db
  const tables = yield* db.all(
    db.dialect === "pg"
      ? sql<{
          name: string
        }>`select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`
      : sql<{ name: string }>`select name from sqlite_master where type = 'table' and sql not like '%virtual%'`
  )
  const found: Array<string> = []
  for (const { name } of tables) {
    const rows = yield* db.all(sql<{ row: string }>`select * from ${sql.literal(name)}`)
    if (rows.some((row) => JSON.stringify(row).includes(text))) found.push(name)
  }
  return found.sort()
})

/** Fails where a text is in the database, in a file below a directory, or in a copy of the database that is made now. */
export const requireNoTrace = Effect.fnUntraced(function* (
  directory: string,
  dataDir: string,
  texts: ReadonlyArray<string>
) {
  const db = yield* Database
  if (db.dialect === "sqlite") {
    const copy = join(directory, `copied-${readdirSync(directory).length}.db`)
    yield* DatabaseFile.copy(databaseFile(dataDir), copy)
  }
  for (const text of texts) {
    assert.deepStrictEqual(yield* rowsHolding(text), [], text)
    assert.deepStrictEqual(yield* Effect.promise(() => filesHolding(directory, text)), [], text)
  }
})
