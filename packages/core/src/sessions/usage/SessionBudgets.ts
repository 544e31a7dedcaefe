import type { Actor } from "@reins/base/domain/Event"
import { ApiKeyId, type SessionId, type TurnId } from "@reins/base/domain/Ids"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Effect, Option } from "effect"
import type { BudgetInput } from "../../budgets/Budget.js"
import { BudgetStore } from "../../budgets/BudgetStore.js"
import { ConnectionStore } from "../../connections/ConnectionStore.js"
import type { OpenConnection } from "../../connections/OpenConnection.js"
import { Database } from "../../store/Database.js"
import type { SessionRow } from "../rows/SessionRow.js"
import { isPriced } from "./Charges.js"

/** A budget would not hold in the session: nobody sees its calls, or nothing says what they cost. */
export type Unenforceable = ReinsError<"budget_unenforceable">

/** A connection, as far as budgets go by it. */
export type MeteredConnection = Pick<OpenConnection, "prices" | "secrets">

/** The API key whose budget the turns of an author count for. Work that is delegated counts for the key of the session that it is for. */
export const payingKey = ({ lineage }: Pick<SessionRow, "lineage">, actor: Actor): ApiKeyId | null => {
  if (actor.kind === "api_key") return ApiKeyId.make(actor.id)
  return actor.kind === "account" && lineage.parent_session_id === null ? null : lineage.api_key_id
}

/** The budgets that the turns of sessions count for. */
export const sessionBudgets = Effect.gen(function* () {
  const budgets = yield* BudgetStore
  const connections = yield* ConnectionStore
  const { all, first, sql } = yield* Database

  /** The session, and the sessions that it works for or goes on from. */
  const treeOf = (session: SessionRow): Effect.Effect<ReadonlyArray<string>> =>
    session.lineage.parent_session_id === null && session.lineage.linked_from_session_id === null
      ? Effect.succeed([session.id])
      : Effect.map(
          all(sql<{ id: SessionId }>`with recursive above (id, above_id) as (
              select id, coalesce(parent_session_id, linked_from_session_id) from sessions where id = ${session.id}
              union all select sessions.id, coalesce(sessions.parent_session_id, sessions.linked_from_session_id)
                from sessions join above on sessions.id = above.above_id
            ) select id from above`),
          (rows) => rows.map(({ id }) => id)
        )

  const subjectsOf = Effect.fnUntraced(function* (session: SessionRow, keyId: string | null) {
    return [...(yield* treeOf(session)), session.workspace_id, ...(keyId === null ? [] : [keyId])]
  })

  /** The ids of all whose budgets a turn counts for. */
  const ofTurn = Effect.fnUntraced(function* (session: SessionRow, turnId: TurnId) {
    const row = yield* first(sql<{ api_key_id: string | null }>`select api_key_id from turns where id = ${turnId}`)
    return [turnId, ...(yield* subjectsOf(session, row?.api_key_id ?? null))]
  })

  return {
    ofTurn,
    /** Fails where a turn that is about to start has a budget that cannot hold with its connection. */
    requireHolding: Effect.fnUntraced(function* (
      session: SessionRow,
      turnId: TurnId,
      connection: MeteredConnection | null
    ): Effect.fn.Return<void, Unenforceable> {
      if (session.budgets.any === 0) return
      const found = yield* budgets.findAll(yield* ofTurn(session, turnId))
      const refusal = found.size === 0 ? undefined : budgetRefusal(session, connection, [...found.values()])
      if (refusal !== undefined) return yield* refusal
    }),
    /** Fails where a turn that an author begins would have a budget that cannot hold: one that is there already, or the given one. */
    require: Effect.fnUntraced(function* (
      session: SessionRow,
      actor: Actor,
      given?: BudgetInput
    ): Effect.fn.Return<void, Unenforceable> {
      if (session.budgets.any === 0 && given === undefined) return
      const found = yield* budgets.findAll(yield* subjectsOf(session, payingKey(session, actor)))
      const limits = [...found.values(), ...(given === undefined ? [] : [given])]
      if (limits.length === 0) return
      const { connection_id: id, workspace_id } = session
      const opened = id === null ? Option.some(null) : yield* Effect.option(connections.open(workspace_id, id))
      // A turn with a connection that cannot be used is refused for that.
      if (Option.isNone(opened)) return
      const connection = opened.value
      const refusal = budgetRefusal(session, connection, limits)
      if (refusal !== undefined) return yield* refusal
    })
  }
})

/** The refusal of budgets that cannot hold for a session with that connection; undefined where they do. */
export const budgetRefusal = (
  session: Pick<SessionRow, "provider_id" | "connection_id" | "model">,
  connection: MeteredConnection | null,
  limits: ReadonlyArray<{ readonly max_cost_usd?: number | null }>
): Unenforceable | undefined => {
  const { connection_id, model, provider_id } = session
  const details = { provider_id, connection_id, model }
  if (connection?.secrets["api_key"] === undefined)
    return new ReinsError({
      code: "budget_unenforceable",
      message:
        `A budget holds the model calls of this turn, and those of ${provider_id} do not pass through the service here, so nothing would ` +
        "keep to it. Use a connection with an api_key, or take the budget away.",
      details: { why: "calls_unseen", ...details }
    })
  const hasCost = limits.some(({ max_cost_usd = null }) => max_cost_usd !== null)
  if (!hasCost || isPriced(model, connection.prices)) return undefined
  const priceFor =
    model === null ? "a price for every model (`*`)" : `a price for the model ${model}, or for every one (\`*\`)`
  return new ReinsError({
    code: "budget_unenforceable",
    message:
      `A budget in US dollars holds the model calls of this turn, and the connection has no price for them. Give it ${priceFor} with ` +
      "PATCH /api/connections/{connection_id}, or set the budget in tokens.",
    details: { why: "no_price", ...details }
  })
}
