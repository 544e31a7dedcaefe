import { createHash } from "node:crypto"
import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * The labels of sessions as rows, so that a list by a label reads what it shows and no other session, and the usage of workspaces by day,
 * in which a figure that nobody reported is null.
 * Labels and their values have no longest length, and an index of PostgreSQL has, so a digest stands for both.
 */
const tables: ReadonlyArray<string> = [
  `create table session_labels (
    workspace_id text not null,
    label_digest text not null,
    session_id text not null references sessions(id),
    primary key (workspace_id, label_digest, session_id)
  )`,
  `create index session_labels_session on session_labels (session_id)`,
  `create index sessions_project on sessions (project_id, id)`,
  `create index sessions_lifecycle on sessions (workspace_id, lifecycle, id)`,
  `create index turns_unsettled on turns (session_id)
    where finished_at is null or (state = 'interrupted' and acknowledged_at is null)`,
  `create table usage_days (
    workspace_id text not null,
    day text not null,
    provider_id text not null,
    model text not null,
    turns bigint not null,
    reported_turns bigint not null,
    priced_turns bigint not null,
    input_tokens bigint,
    output_tokens bigint,
    cached_tokens bigint,
    reasoning_tokens bigint,
    cost_usd double precision,
    primary key (workspace_id, day, provider_id, model)
  )`
]

interface EndedTurn {
  readonly id: string
  readonly workspace_id: string
  readonly usage: string
  readonly settings: string
  readonly finished_at: string
}

const pageSize = 1000

const columns = [
  "turns",
  "reported_turns",
  "priced_turns",
  "input_tokens",
  "output_tokens",
  "cached_tokens",
  "reasoning_tokens",
  "cost_usd"
]

/** Brings what sessions and turns hold into the new tables, a page at a time. The words of this release are not used: they may change. */
export const labelsAndUsage = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of tables) yield* sql.unsafe(statement)

  const pagesOf = Effect.fnUntraced(function* <Row extends { readonly id: string }, E, R>(
    pageAfter: (id: string) => Effect.Effect<ReadonlyArray<Row>, E, R>,
    take: (row: Row) => Effect.Effect<unknown, E, R>
  ) {
    let last = ""
    while (true) {
      const rows = yield* pageAfter(last)
      yield* Effect.forEach(rows, take, { discard: true })
      last = rows.at(-1)?.id ?? last
      if (rows.length < pageSize) return
    }
  })

  yield* pagesOf(
    (last) => sql<{ id: string; workspace_id: string; labels: string }>`select id, workspace_id, labels from sessions
      where labels <> '{}' and id > ${last} order by id limit ${pageSize}`,
    ({ id, labels, workspace_id }) =>
      Effect.forEach(Object.entries(JSON.parse(labels)), (label) => {
        const label_digest = createHash("sha256").update(JSON.stringify(label)).digest("hex")
        return sql`insert into session_labels ${sql.insert({ workspace_id, label_digest, session_id: id })}`
      })
  )
  yield* pagesOf(
    (last) => sql<EndedTurn>`select turns.id, sessions.workspace_id, turns.usage, turns.settings, turns.finished_at
      from turns join sessions on sessions.id = turns.session_id
      where turns.started_at is not null and turns.finished_at is not null and turns.id > ${last}
      order by turns.id limit ${pageSize}`,
    ({ finished_at, settings, usage, workspace_id }) => {
      const { cached_tokens, cost_usd, input_tokens, output_tokens, reasoning_tokens } = JSON.parse(usage)
      const tokens = { input_tokens, output_tokens, cached_tokens, reasoning_tokens }
      const { model, provider_id } = JSON.parse(settings)
      const isPriced = cost_usd !== null
      const isReported = isPriced || Object.values(tokens).some((count) => count !== 0 && count !== null)
      const counted = isReported
        ? tokens
        : { input_tokens: null, output_tokens: null, cached_tokens: null, reasoning_tokens: null }
      return sql`insert into usage_days ${sql.insert({
        workspace_id,
        day: finished_at.slice(0, 10),
        provider_id,
        model: model ?? "",
        turns: 1,
        reported_turns: isReported ? 1 : 0,
        priced_turns: isPriced ? 1 : 0,
        ...counted,
        cost_usd
      })} on conflict (workspace_id, day, provider_id, model) do update set ${sql.literal(
        columns
          .map(
            (name) => `${name} = coalesce(usage_days.${name} + excluded.${name}, usage_days.${name}, excluded.${name})`
          )
          .join(", ")
      )}`
    }
  )
})
