/** The calls of tools that agents have made. */
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
  `create index tool_calls_session on tool_calls (session_id)`
]
