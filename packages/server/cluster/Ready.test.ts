import { placeForEachTest } from "@reins/testing/process/Place"
import type { ServerProcess } from "@reins/testing/process/ServerProcess"
import { eventually } from "@reins/testing/process/Waiting"
import pg from "pg"
import { assert, it } from "vitest"
import { newMachines } from "./Machines.js"

const place = placeForEachTest()

/** Sends statements to a database of the server of an installation's database. */
const statements = async (url: string, ...texts: ReadonlyArray<string>) => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (const text of texts) await client.query(text)
  await client.end()
}

const probe = async ({ url }: ServerProcess, path: "healthz" | "readyz") => {
  const answer = await fetch(`${url}/${path}`)
  const { reason } = (await answer.json()) as { readonly reason?: string }
  return reason === undefined ? answer.status : `${answer.status} ${reason}`
}

it("each role is ready while it can do its work: api with the database and its schema, those with sessions with their lease too", async () => {
  const machines = await newMachines(place)
  const roles = ["all", "runner", "api"] as const
  const servers: Array<ServerProcess> = []
  for (const role of roles) servers.push(await (await machines.machine(role, { REINS_ROLE: role })).start())
  const are = async (path: "healthz" | "readyz") => Promise.all(servers.map((server) => probe(server, path)))
  const becomes = (what: string, expected: ReadonlyArray<string | number>) =>
    eventually(what, async () => JSON.stringify(await are("readyz")) === JSON.stringify(expected), 20_000)
  assert.deepStrictEqual(await are("readyz"), [200, 200, 200])
  const database = machines.env["REINS_DATABASE_URL"] ?? ""

  // A node that is drained answers for what it has.
  assert.strictEqual(machines.command("node", "drain", "runner", "--wait").status, 0)
  assert.deepStrictEqual(await are("readyz"), [200, 200, 200])

  // Another process holds the nodes.
  await statements(database, "update nodes set boot_id = 'another', epoch = epoch + 1, expires_at = 99999999999999")
  await becomes("those with sessions have lost their lease", ["503 lease_lost", "503 lease_lost", 200])
  assert.deepStrictEqual(await are("healthz"), [200, 200, 200])
  await statements(database, "update nodes set expires_at = 0")
  await becomes("they take it again", [200, 200, 200])

  const newest = "migration_id = (select max(migration_id) from effect_sql_migrations)"
  await statements(
    database,
    `create table kept as select * from effect_sql_migrations where ${newest}`,
    `delete from effect_sql_migrations where ${newest}`
  )
  const other = "503 schema_of_another_release"
  await becomes("the schema is that of an older release", [other, other, other])
  await statements(database, "insert into effect_sql_migrations select * from kept")
  await becomes("the schema is theirs", [200, 200, 200])

  const { pathname } = new URL(database)
  const elsewhere = new URL("/postgres", database).href
  const name = pathname.slice(1)
  await statements(
    elsewhere,
    `alter database ${name} allow_connections false`,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`
  )
  const away = "503 database_unavailable"
  await becomes("the database is away", [away, away, away])
  assert.deepStrictEqual(await are("healthz"), [200, 200, 200])
  await statements(elsewhere, `alter database ${name} allow_connections true`)
  await becomes("the database is back", [200, 200, 200])
})
