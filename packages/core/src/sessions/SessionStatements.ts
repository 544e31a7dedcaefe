import type { Fragment } from "@effect/sql/Statement"
import { roleQuery } from "../access/Memberships.js"
import { budgetColumns } from "../budgets/BudgetRow.js"
import type { Role } from "../domain/Role.js"
import type { Database } from "../store/Database.js"
import type { SessionRow } from "./SessionRow.js"
import { isHolding, isLive, isWaiting } from "./turns/TurnConditions.js"

/** The statements that give back and add sessions, each made once. */
export const make = (db: Database["Type"]) => {
  const sql = db.sql
  const countOf = (condition: string): string =>
    `(select cast(count(*) as integer) from turns where turns.session_id = sessions.id and ${condition})`
  const turns = sql.literal(`live.id as active_turn_id, live.state as active_turn_state,
    ${countOf(isWaiting("turns"))} as queued_turns, ${countOf(isHolding("turns"))} as held_turns`)
  const budgets = budgetColumns(db)
  const columns = sql`sessions.*, ${turns}, ${budgets.of("sessions.id")} as budget, ${budgets.any} as any_budget`
  // A session has one live turn at most.
  const withLive = sql.literal(`left join turns as live on live.session_id = sessions.id and ${isLive("live")}`)
  const joined = sql`sessions ${withLive}`
  const workspace = sql.literal("sessions.workspace_id")

  const byId = db.prepare((id: string) => sql<SessionRow>`select ${columns} from ${joined} where sessions.id = ${id}`)
  return {
    byId,
    find: (id: string) => db.first(byId(id)),
    byIdFor: db.prepare(
      (accountId: string, id: string) => sql<SessionRow & { readonly role: Role | null }>`select ${columns},
        (${roleQuery(sql, workspace, accountId)}) as role from ${joined} where sessions.id = ${id}`
    ),
    select: ({ from = sql.literal("sessions"), where }: { readonly from?: Fragment; readonly where: Fragment }) =>
      db.all(sql<SessionRow>`select ${columns} from ${from} ${withLive} where ${where}`),
    insert: db.prepareRow((row) => sql`insert into sessions ${sql.insert(row)}`),
    hold: db.prepare((id: string) => sql`select id from sessions where id = ${id}${db.forUpdate}`)
  }
}
