import type { OwnedRows } from "../store/OwnedRows.js"

const owned = (column: string): ReadonlyArray<OwnedRows> => [
  { table: "oauth_codes", of: (sql, id) => sql`${sql.literal(column)} = ${id}` },
  {
    table: "oauth_tokens",
    of: (sql, id) => sql`grant_id in (select id from oauth_grants where ${sql.literal(column)} = ${id})`
  },
  { table: "oauth_grants", of: (sql, id) => sql`${sql.literal(column)} = ${id}` }
]

/** The access of apps to a workspace. */
export const workspaceRows = owned("workspace_id")

/** The access of apps that an account gave. */
export const accountRows = owned("account_id")
