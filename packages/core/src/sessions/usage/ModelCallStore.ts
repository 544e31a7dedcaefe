import { ModelCallId, newId, type TurnId } from "@reins/base/domain/Ids"
import { fromMillis } from "@reins/base/domain/Timestamp"
import type { ModelCall } from "@reins/machine/relay/gateway/ModelCall"
import { Effect } from "effect"
import { costOf, type Prices } from "../../connections/Prices.js"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import type { Usage } from "../rows/Session.js"
import type { SessionRow } from "../rows/SessionRow.js"
import type { Turn } from "../rows/Turn.js"

/** The model calls of turns, as the relay saw them. */
export const modelCallStore = Effect.map(Database, ({ all, first, run, sql }) => ({
  /** Keeps calls that have ended. */
  add: Effect.fnUntraced(function* (
    session: Pick<SessionRow, "id" | "workspace_id">,
    turn: Pick<Turn, "id" | "settings">,
    calls: ReadonlyArray<ModelCall>,
    prices: Prices
  ): Effect.fn.Return<void, never, Commit> {
    const rows = yield* Effect.forEach(calls, (call) =>
      Effect.map(newId(ModelCallId), (id) => ({
        id,
        workspace_id: session.workspace_id,
        session_id: session.id,
        turn_id: turn.id,
        provider_id: turn.settings.provider_id,
        ...columnsOf(call, prices)
      }))
    )
    if (rows.length > 0) yield* run(sql`insert into model_calls ${sql.insert(rows)}`)
  }),
  /** The usage of a turn by its calls so far; undefined when it has made none. */
  usageOf: (turnId: TurnId): Effect.Effect<Usage | undefined> =>
    Effect.map(
      first(sql<SummedCalls>`select cast(count(*) as integer) as calls,
          cast(count(coalesce(input_tokens, output_tokens)) as integer) as reported_calls,
          cast(count(cost_nano_usd) as integer) as priced_calls,
          cast(sum(input_tokens) as double precision) as input_tokens,
          cast(sum(output_tokens) as double precision) as output_tokens,
          cast(sum(cached_tokens) as double precision) as cached_tokens,
          cast(sum(reasoning_tokens) as double precision) as reasoning_tokens,
          cast(sum(cost_nano_usd) as double precision) as cost_nano_usd
        from model_calls where turn_id = ${turnId}`),
      (row) => (row === undefined || row.calls === 0 ? undefined : usageOf(row))
    ),
  /** The protocol of the first call of a turn; undefined when it has made none. */
  protocolOf: (turnId: TurnId): Effect.Effect<string | undefined> =>
    Effect.map(
      first(sql<{ protocol: string }>`select protocol from model_calls where turn_id = ${turnId} order by id limit 1`),
      (row) => row?.protocol
    ),
  /** True when a model has answered in the turn. */
  hasAnswer: (turnId: TurnId): Effect.Effect<boolean> =>
    Effect.map(
      all(sql`select 1 as one from model_calls where turn_id = ${turnId} and outcome = 'answered' limit 1`),
      (rows) => rows.length > 0
    )
}))

interface SummedCalls extends Omit<Usage, "source" | "cost_usd"> {
  readonly cost_nano_usd: number | null
}

const usageOf = ({ cost_nano_usd, ...sums }: SummedCalls): Usage => ({
  ...sums,
  cost_usd: cost_nano_usd === null ? null : cost_nano_usd / 1e9,
  source: sums.reported_calls === 0 ? null : "gateway"
})

const columnsOf = (call: ModelCall, prices: Prices) => {
  const ended_at = fromMillis(call.endedAt)
  return {
    protocol: call.protocol,
    model: call.model,
    has_tools: call.hasTools === null ? null : Number(call.hasTools),
    outcome: call.outcome,
    status: call.status,
    day: ended_at.slice(0, 10),
    started_at: fromMillis(call.startedAt),
    ended_at,
    input_tokens: call.usage?.input ?? null,
    cached_tokens: call.usage?.cached ?? null,
    cache_written_tokens: call.usage?.cacheWritten ?? null,
    output_tokens: call.usage?.output ?? null,
    reasoning_tokens: call.usage?.reasoning ?? null,
    cost_nano_usd: costOf(call.model, call.usage, prices)
  }
}
