import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * Positions in a workspace for the events of its sessions that a list of sessions needs. An event without a position is committed and waits
 * for one. The head of a log has a row of its own, so that numbering takes turns and no position is given twice.
 */
const tables: ReadonlyArray<string> = [
  `create table workspace_events (
    session_id text not null,
    seq integer not null,
    workspace_id text not null,
    position integer,
    type text not null,
    recorded_at text not null,
    primary key (session_id, seq)
  )`,
  `create unique index workspace_events_position on workspace_events (workspace_id, position)`,
  `create index workspace_events_unnumbered on workspace_events (workspace_id) where position is null`,
  `create table workspace_logs (
    workspace_id text primary key references workspaces(id),
    head integer not null,
    first_position integer not null
  )`
]

/** Numbers the events that there are, in the order of their time. The words of this release are not used: they may change. */
export const workspaceEvents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of tables) yield* sql.unsafe(statement)
  const recordedAt = sql.onDialectOrElse({
    pg: () => sql.literal("cast(events.envelope as json) ->> 'recorded_at'"),
    orElse: () => sql.literal("json_extract(events.envelope, '$.recorded_at')")
  })
  const families = ["session", "turn", "usage", "changeset", "delivery", "merge_request", "delegation"]
  const isListed = sql.or(families.map((family) => sql`events.type like ${`${family}.%`}`))
  yield* sql`insert into workspace_events (session_id, seq, workspace_id, position, type, recorded_at)
    select session_id, seq, workspace_id, row_number() over (partition by workspace_id order by latest, session_id, seq),
      type, recorded_at
    from (
      select timed.*, max(recorded_at) over (partition by session_id order by seq) as latest from (
        select events.session_id, events.seq, sessions.workspace_id, events.type, ${recordedAt} as recorded_at
        from events join sessions on sessions.id = events.session_id where ${isListed}
      ) as timed
    ) as listed`
  yield* sql`insert into workspace_logs (workspace_id, head, first_position)
    select workspace_id, max(position), 1 from workspace_events group by workspace_id`
})
