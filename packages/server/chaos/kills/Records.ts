import { join } from "node:path"
import { openSqlite } from "@reins/core/store/SqliteDriver"
import { Schema } from "effect"
import pg from "pg"

/** Reads the database of an installation behind its back. Every statement is written once for SQLite and PostgreSQL. */
export interface Records {
  /** The rows of a query, checked. */
  readonly all: <A, I>(row: Schema.Schema<A, I>, query: string) => Promise<ReadonlyArray<A>>
}

export const sqliteRecords = (dataDir: string): Records => ({
  all: async (row, query) => {
    const connection = openSqlite(join(dataDir, "reins.db"), { readonly: true, timeout: 10_000 })
    try {
      return Schema.decodeUnknownSync(Schema.Array(row))(connection.prepare(query).all())
    } finally {
      connection.close()
    }
  }
})

export const postgresRecords = (url: string): Records => ({
  all: async (row, query) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      return Schema.decodeUnknownSync(Schema.Array(row))((await client.query(query)).rows)
    } finally {
      await client.end()
    }
  }
})
