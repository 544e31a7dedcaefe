import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import type { Others } from "./Migrations.js"
import { workers } from "./PgBell.js"

/** The nodes whose leases have not run out, and the servers without a name. A node that is kept out waits for its lease. */
export const nodesAtWork: Others = {
  list: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const nodes = yield* sql<{ name: string; release: string }>`select 'the node ' || name as name, release from nodes
      where expires_at > (extract(epoch from now()) * 1000)::bigint order by name`
    const servers = yield* workers(sql)
    return [...nodes, ...servers.map((server) => ({ name: "a server without --node", release: server.release }))]
  }),
  keepOut: Effect.flatMap(SqlClient.SqlClient, (sql) => sql`lock table nodes in share row exclusive mode`)
}
