import { Effect } from "effect"
import { ApiKeyId, SessionId, type WorkspaceId } from "../../domain/Ids.js"
import type { Page, PageRequest } from "../../domain/Page.js"
import type { ReinsError } from "../../domain/ReinsError.js"
import { Database } from "../../store/Database.js"
import * as Keyset from "../../store/Keyset.js"
import { toNanos } from "../Session.js"
import type { UsageGroup, UsageGrouping } from "../Usage.js"
import type { UsageSum } from "../UsageSum.js"
import { usageTotals } from "./UsageStore.js"

/** The workspace and the days, inclusive and in UTC, whose usage is summed up. */
interface Span {
  readonly id: WorkspaceId
  readonly from: string
  readonly to: string
}

/** A sum with the text that it is grouped by, which is its key in the order of the pages. */
interface Group extends UsageSum {
  readonly name: string
}

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

  return Effect.fnUntraced(function* (
    by: UsageGrouping,
    span: Span,
    request: PageRequest
  ): Effect.fn.Return<Page<UsageGroup>, ReinsError<"invalid_cursor">> {
    const limit = Keyset.pageLimit(request)
    const key = yield* Keyset.decode(request.cursor)
    const after = key === undefined ? undefined : Buffer.from(key, "base64url").toString("utf8")
    if (after?.includes("\0") === true) return yield* Keyset.invalidCursor
    const found = yield* rowsOf(by, span, after, limit + 1)
    const page = Keyset.page(found, limit, ({ name }) => Buffer.from(name, "utf8").toString("base64url") || "-")
    return Keyset.map(page, ({ name, ...sum }) => ({
      ...sum,
      ...namedBy[by](name),
      cost_usd: sum.cost_usd === null ? null : toNanos(sum.cost_usd)
    }))
  })

  function rowsOf(by: UsageGrouping, span: Span, after: string | undefined, limit: number) {
    switch (by) {
      case "day":
        return ofDays("day", span, after, "desc", limit)
      case "api_key":
        return ofDays("api_key_id", span, after, "desc", limit)
      case "model":
        return ofDays(modelName, span, after, "asc", limit)
      default:
        return ofSessions(span, after, limit)
    }
  }
})

/** A provider and a model as one text that has their order. The id of a provider has no space. */
const modelName = "(provider_id || ' ' || model)"

const namedBy: Readonly<Record<UsageGrouping, (name: string) => Partial<UsageGroup>>> = {
  day: (day) => ({ day }),
  session: (id) => ({ session_id: SessionId.make(id) }),
  api_key: (id) => ({ api_key_id: id === "" ? null : ApiKeyId.make(id) }),
  model: (name) => {
    const at = name.indexOf(" ")
    const model = name.slice(at + 1)
    return { provider_id: name.slice(0, at), model: model === "" ? null : model }
  }
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
