/**
 * The calls of tools, and the results of turns. `delegations.turn_id` is the turn whose agent delegated. A turn that was asked for a result of a shape
 * has a `schema`; the tries of every other turn are counted without one.
 */
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
  `create table turn_results (
    turn_id text primary key references turns(id),
    session_id text not null references sessions(id),
    schema text,
    required integer not null,
    result text,
    tries integer not null,
    errors text
  )`,
  `create index turn_results_session on turn_results (session_id)`,
  `alter table delegations add column turn_id text`
]
