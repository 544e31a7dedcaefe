import type { SessionId, WorkspaceId } from "@reins/base/domain/Ids"
import { Effect } from "effect"
import { type ListPrice, listPriceOf } from "../../connections/ListPrices.js"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import { usageOf } from "../rows/Session.js"
import type { Turn } from "../rows/Turn.js"
import { addCounts, countsOf, sumOfTurn, type UsageCounts, type UsageSum } from "../rows/UsageSum.js"
import { answeredSum, listedPart, type UnpricedTokens, unpricedTotals } from "./ListedSums.js"

/** The usage of the turns that ran with one model. */
export interface ModelCounts extends UsageSum {
  readonly provider_id: string
  readonly model: string | null
  readonly list_price: ListPrice | null
}

interface EndedTurn {
  readonly usage: string
  readonly settings: string
}

/** The sums of turns by the provider and the model that they ran with. */
const byModel = (rows: ReadonlyArray<EndedTurn>): ReadonlyArray<ModelCounts> => {
  const models = new Map<string, Array<UsageSum>>()
  for (const { settings, usage } of rows) {
    const counts = models.get(settings) ?? []
    counts.push(sumOfTurn(modelOf(settings), usageOf(usage)))
    models.set(settings, counts)
  }
  return [...models].map(([settings, counts]) => ({
    ...JSON.parse(settings),
    list_price: listPriceOf(modelOf(settings)),
    ...addCounts(counts)
  }))
}

/** The model in the settings of a turn, as they are stored. */
export const modelOf = (settings: string): string | null => JSON.parse(settings).model

/** The usage of turns that were started and have ended: of sessions from their turns, of a workspace from sums that are kept by day. */
export const usageStore = Effect.map(Database, ({ all, run, sql }) => ({
  /** Adds a turn that has ended to the sums of its workspace. A turn that was never started used nothing. */
  count: (
    workspaceId: WorkspaceId,
    { finished_at, settings, started_at, usage }: Turn,
    keyId: string | null
  ): Effect.Effect<void, never, Commit> =>
    started_at === null || finished_at === null
      ? Effect.void
      : run(
          sql`insert into usage_days ${sql.insert({
            workspace_id: workspaceId,
            day: finished_at.slice(0, 10),
            provider_id: settings.provider_id,
            model: settings.model ?? "",
            api_key_id: keyId ?? "",
            ...countsOf(usage)
          })} on conflict (workspace_id, day, provider_id, model, api_key_id) do update set ${sql.literal(sums)}`
        ),
  ofSession: (sessionId: SessionId): Effect.Effect<ReadonlyArray<ModelCounts>> =>
    Effect.map(
      all(sql<EndedTurn>`select usage, settings from turns
        where session_id = ${sessionId} and started_at is not null and finished_at is not null`),
      byModel
    ),
  /** The usage of a session and of all sessions below it, which work for it or for one of them. */
  ofTree: (sessionId: SessionId): Effect.Effect<ReadonlyArray<ModelCounts>> =>
    Effect.map(
      all(sql<EndedTurn>`with recursive tree (id) as (
          select id from sessions where id = ${sessionId}
          union all select sessions.id from sessions join tree on sessions.parent_session_id = tree.id
        ) select turns.usage, turns.settings from tree cross join turns
        where turns.session_id = tree.id and turns.started_at is not null and turns.finished_at is not null`),
      byModel
    ),
  /** Days are as in `2026-01-31`, in UTC and inclusive. */
  ofWorkspace: (workspaceId: WorkspaceId, from: string, to: string): Effect.Effect<ReadonlyArray<ModelCounts>> =>
    Effect.map(
      all(sql<
        UsageCounts & UnpricedTokens & { provider_id: string }
      >`select provider_id, model, ${sql.literal(usageTotals)},
          ${sql.literal(unpricedTotals)} from usage_days
        where workspace_id = ${workspaceId} and day >= ${from} and day <= ${to} group by provider_id, model`),
      (rows) =>
        rows.map((row) => {
          const model = row.model === "" ? null : row.model
          const sum = answeredSum(row, listedPart(row))
          return { provider_id: row.provider_id, model, list_price: listPriceOf(model), ...sum }
        })
    )
}))

/** The columns of a sum, in `usage_days` and in the statements that sum it up. */
export const usageColumns = [
  "turns",
  "reported_turns",
  "priced_turns",
  "input_tokens",
  "output_tokens",
  "cached_tokens",
  "reasoning_tokens",
  "cost_usd"
] as const satisfies ReadonlyArray<keyof UsageCounts>

/** A figure that is unknown on one side is that of the other side. */
const sums = usageColumns
  .map((name) => `${name} = coalesce(usage_days.${name} + excluded.${name}, usage_days.${name}, excluded.${name})`)
  .join(", ")

/** PostgreSQL gives wide integers back as text, and these stay below the integers that a number holds exactly. */
export const usageTotals = usageColumns.map((name) => `cast(sum(${name}) as double precision) as ${name}`).join(", ")
