import type { OwnedRows } from "../store/OwnedRows.js"

const owned = (column: string): ReadonlyArray<OwnedRows> => [
  {
    table: "followers",
    of: (sql, id) => sql`key in (select id from push_subscriptions where ${sql.literal(column)} = ${id})`
  },
  { table: "push_subscriptions", of: (sql, id) => sql`${sql.literal(column)} = ${id}` }
]

/** The browsers that are told of a workspace. */
export const workspaceRows = owned("workspace_id")

/** The browsers of an account. */
export const accountRows = owned("account_id")
