import { randomBytes } from "node:crypto"
import pg from "pg"
import { inject } from "vitest"

declare module "vitest" {
  interface ProvidedContext {
    /** The maintenance database of a PostgreSQL server that lives as long as the test run. */
    readonly postgresUrl: string
  }
}

export interface PostgresDatabase {
  readonly url: string
  readonly drop: () => Promise<void>
}

/** A fresh PostgreSQL database. */
export const newPostgresDatabase = async (): Promise<PostgresDatabase> => {
  const name = `reins_${randomBytes(8).toString("hex")}`
  await administer(`create database ${name}`)
  const url = new URL(inject("postgresUrl"))
  url.pathname = `/${name}`
  return { url: url.href, drop: () => administer(`drop database ${name} with (force)`) }
}

const administer = async (statement: string): Promise<void> => {
  const client = new pg.Client({ connectionString: inject("postgresUrl") })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
