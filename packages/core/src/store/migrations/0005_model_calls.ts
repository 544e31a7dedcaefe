/**
 * The model calls that passed through the relay, one row each, so that usage and budgets are sums of what gateways said. Sums by turn,
 * session and day of a workspace read an index. Money is whole billionths of a US dollar, because sums of fractions drift.
 * A session keeps the native session that its running turn has opened, until a model has answered in it, and the cost that an agent has
 * counted up to the end of its last turn. Usage that nobody had reported was kept as zeros, and is unknown from here on.
 */
export const modelCalls: ReadonlyArray<string> = [
  `create table model_calls (
    id text primary key,
    workspace_id text not null,
    session_id text not null references sessions(id),
    turn_id text not null references turns(id),
    provider_id text not null,
    protocol text not null,
    model text,
    has_tools integer,
    outcome text not null,
    status integer,
    day text not null,
    started_at text not null,
    ended_at text not null,
    input_tokens bigint,
    cached_tokens bigint,
    cache_written_tokens bigint,
    output_tokens bigint,
    reasoning_tokens bigint,
    cost_nano_usd bigint
  )`,
  "create index model_calls_turn on model_calls (turn_id)",
  "create index model_calls_session on model_calls (session_id)",
  "create index model_calls_workspace on model_calls (workspace_id, day)",
  "alter table connections add column prices text",
  "alter table sessions add column native_candidate text",
  "alter table sessions add column native_cost double precision",
  ...["turns", "sessions"].map(
    (
      table
    ) => `update ${table} set usage = '{"input_tokens":null,"output_tokens":null,"cached_tokens":null,"reasoning_tokens":null,"cost_usd":null}'
      where usage = '{"input_tokens":0,"output_tokens":0,"cached_tokens":0,"reasoning_tokens":0,"cost_usd":null}'`
  )
]
