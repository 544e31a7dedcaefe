import { ApiKeyId, SessionId, type WorkspaceId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"
import { Database } from "../../store/Database.js"
import * as Keyset from "../../store/Keyset.js"
import { addCosts, usageOf } from "../rows/Session.js"
import { sumOfTurn, type UsageCounts } from "../rows/UsageSum.js"
import { answeredSum, type ListedPart, listedPart, type UnpricedTokens, unpricedTotals } from "./ListedSums.js"
import type { UsageGroup, UsageGrouping } from "./Usage.js"
import { modelOf, usageTotals } from "./UsageStore.js"

/** The workspace and the days, inclusive and in UTC, whose usage is summed up. */
interface Span {
  readonly id: WorkspaceId
  readonly from: string
  readonly to: string
}

/** A sum with the text that it is grouped by, which is its key in the order of the pages. */
interface Group extends UsageCounts {
  readonly name: string
}

/** The columns of `usage_days` by which sums are grouped, as SQL. A model is a text that has the order of providers and models. */
const columnOf = {
  day: "day",
  api_key: "api_key_id",
  model: "(provider_id || ' ' || model)",
  day_model: "(day || ' ' || provider_id || ' ' || model)"
} as const satisfies Readonly<Partial<Record<UsageGrouping, string>>>

/** The usage of a workspace by day, session, model or API key, a page at a time. */
export const usageGroups = Effect.map(Database, (db) => {
  const { sql } = db
  const totals = sql.literal(usageTotals)

  /** Groups of the sums that are kept by day. `name` is SQL, and `isFirst` says which way the pages go. */
  const ofDays = (
    name: string,
    { from, id, to }: Span,
    after: string | undefined,
    order: "asc" | "desc",
    limit: number
  ) => {
    const grouped = sql.literal(name)
    const beyond =
      after === undefined ? sql.literal("") : sql`and ${grouped} ${sql.literal(order === "asc" ? ">" : "<")} ${after}`
    return db.all(sql<Group>`select ${grouped} as name, ${totals} from usage_days
      where workspace_id = ${id} and day >= ${from} and day <= ${to} ${beyond}
      group by ${grouped} order by name ${sql.literal(order)} limit ${limit}`)
  }

  /** Usage is stored as JSON with each turn, and a session has few of them. */
  const ofSessions = ({ from, id, to }: Span, after: string | undefined, limit: number) =>
    db.all(sql<Group>`select name, ${totals} from (
        select turns.session_id as name, 1 as turns, ${sql.literal(figuresOf(db.dialect))}
        from sessions join turns on turns.session_id = sessions.id
        where sessions.workspace_id = ${id} and sessions.id < ${after ?? "zzzz"}
          and turns.started_at is not null
          and substr(turns.finished_at, 1, 10) >= ${from} and substr(turns.finished_at, 1, 10) <= ${to}
      ) as ended group by name order by name desc limit ${limit}`)

  /** The part of list prices, for each group of a page. */
  const listedOf = (by: UsageGrouping, { from, id, to }: Span, names: ReadonlyArray<string>) => {
    if (names.length === 0) return Effect.succeed(new Map<string, ListedPart>())
    if (by === "session")
      return Effect.map(
        db.all(sql<{
          name: string
          settings: string
          usage: string
        }>`select session_id as name, settings, usage from turns
          where ${sql.in("session_id", names)} and started_at is not null
            and substr(finished_at, 1, 10) >= ${from} and substr(finished_at, 1, 10) <= ${to}`),
        (rows) =>
          byName(rows.map(({ name, settings, usage }) => ({ name, ...sumOfTurn(modelOf(settings), usageOf(usage)) })))
      )
    const column = columnOf[by]
    return Effect.map(
      db.all(sql<UnpricedTokens & { name: string }>`select * from (
          select ${sql.literal(column)} as name, model, ${sql.literal(unpricedTotals)} from usage_days
          where workspace_id = ${id} and day >= ${from} and day <= ${to} and priced_turns = 0
          group by ${sql.literal(column)}, model
        ) as unpriced where ${sql.in("name", names)}`),
      (rows) => byName(rows.map((row) => ({ name: row.name, ...listedPart(row) })))
    )
  }

  return Effect.fnUntraced(function* (
    by: UsageGrouping,
    span: Span,
    request: PageRequest
  ): Effect.fn.Return<Page<UsageGroup>, ReinsError<"invalid_cursor">> {
    const limit = Keyset.pageLimit(request)
    const key = yield* Keyset.decode(request.cursor)
    const after = key === undefined ? undefined : Buffer.from(key, "base64url").toString("utf8")
    if (after?.includes("\0") === true) return yield* Keyset.invalidCursor
    const found =
      by === "session"
        ? yield* ofSessions(span, after, limit + 1)
        : yield* ofDays(columnOf[by], span, after, by === "model" ? "asc" : "desc", limit + 1)
    const page = Keyset.page(found, limit, ({ name }) => Buffer.from(name, "utf8").toString("base64url") || "-")
    const listed = yield* listedOf(
      by,
      span,
      page.items.map(({ name }) => name)
    )
    return Keyset.map(page, ({ name, ...sum }) => ({
      ...namedBy[by](name),
      ...answeredSum(sum, listed.get(name) ?? nothingListed)
    }))
  })
})

const nothingListed: ListedPart = { list_priced_turns: 0, list_cost_usd: null }

/** Adds up the parts of each name. */
const byName = (parts: ReadonlyArray<ListedPart & { readonly name: string }>): ReadonlyMap<string, ListedPart> => {
  const sums = new Map<string, ListedPart>()
  for (const { list_cost_usd, list_priced_turns, name } of parts) {
    const sum = sums.get(name) ?? nothingListed
    sums.set(name, {
      list_priced_turns: sum.list_priced_turns + list_priced_turns,
      list_cost_usd: addCosts(sum.list_cost_usd, list_cost_usd)
    })
  }
  return sums
}

const namedBy: Readonly<Record<UsageGrouping, (name: string) => Partial<UsageGroup>>> = {
  day: (day) => ({ day }),
  session: (id) => ({ session_id: SessionId.make(id) }),
  api_key: (id) => ({ api_key_id: id === "" ? null : ApiKeyId.make(id) }),
  model: (name) => modelIn(name),
  day_model: (name) => ({ day: name.slice(0, dayLength), ...modelIn(name.slice(dayLength + 1)) })
}

const dayLength = "2026-01-31".length

/** The id of a provider has no space. */
const modelIn = (name: string) => {
  const at = name.indexOf(" ")
  const model = name.slice(at + 1)
  return { provider_id: name.slice(0, at), model: model === "" ? null : model }
}

const figures = ["input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost_usd"]

/** The figures of the usage of a turn as columns, as `countsOf` gives them. */
const figuresOf = (dialect: Database["Type"]["dialect"]): string => {
  const of = (name: string) =>
    dialect === "pg"
      ? `cast(turns.usage::json ->> '${name}' as double precision)`
      : `json_extract(turns.usage, '$.${name}')`
  const tokens = figures.slice(0, -1).map(of).join(", ")
  return [
    ...figures.map((name) => `${of(name)} as ${name}`),
    `case when coalesce(${tokens}) is null then 0 else 1 end as reported_turns`,
    `case when ${of("cost_usd")} is null then 0 else 1 end as priced_turns`
  ].join(", ")
}
