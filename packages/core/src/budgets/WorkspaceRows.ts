import type { OwnedRows } from "../store/OwnedRows.js"

/** The budgets of a workspace and of the API keys that are good for it alone. They are found by the keys, so they go before those. */
export const workspaceRows: ReadonlyArray<OwnedRows> = [
  {
    table: "budgets",
    of: (sql, id) => sql`(subject_id = ${id} or subject_id in (select id from api_keys where workspace_id = ${id}))`
  }
]

/** The budgets of the API keys of an account. They are found by the keys, so they go before those. */
export const accountRows: ReadonlyArray<OwnedRows> = [
  { table: "budgets", of: (sql, id) => sql`subject_id in (select id from api_keys where account_id = ${id})` }
]
