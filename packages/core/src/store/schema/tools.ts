/** The calls of tools, and what the turns of a conversation add to it. `delegations.turn_id` is the turn whose agent delegated. */
export const tools: ReadonlyArray<string> = [
  `create table tool_calls (
    id text primary key,
    session_id text not null references sessions(id),
    turn_id text not null references turns(id),
    server text not null,
    tool text not null,
    call_id text not null,
    key text,
    input_digest text not null,
    state text not null,
    opened_at text not null,
    ended_at text,
    bytes integer,
    result_digest text
  )`,
  `create index tool_calls_turn on tool_calls (turn_id, id)`,
  `create index tool_calls_session on tool_calls (session_id)`,
  `alter table delegations add column turn_id text`,
  `alter table messages add column result_schema text`,
  `alter table turns add column result text`,
  `alter table turns add column result_tries integer`
]
