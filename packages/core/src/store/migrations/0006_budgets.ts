/**
 * Budgets by the id of what has them: a turn, a session, an API key or a workspace. A model call that a budget lets out has a row until it is
 * settled, with the estimate that counts when its end is never seen and the ids of all whose budgets it counts for. Sessions and turns know
 * the API key that they were made with, and the usage of a day is kept by it; the empty text stands for none.
 */
export const budgets: ReadonlyArray<string> = [
  `create table budgets (
    subject_id text primary key,
    max_tokens bigint,
    max_nano_usd bigint,
    spent_tokens bigint not null,
    spent_nano_usd bigint,
    estimated_calls integer not null,
    created_at text not null
  )`,
  `create table calls_in_flight (
    id text primary key,
    turn_id text not null,
    subjects text not null,
    tokens bigint not null,
    nano_usd bigint,
    created_at text not null
  )`,
  "create index calls_in_flight_turn on calls_in_flight (turn_id)",
  "alter table sessions add column api_key_id text",
  "alter table turns add column api_key_id text",
  `create table usage_days_by_key (
    workspace_id text not null,
    day text not null,
    provider_id text not null,
    model text not null,
    api_key_id text not null,
    turns bigint not null,
    reported_turns bigint not null,
    priced_turns bigint not null,
    input_tokens bigint,
    output_tokens bigint,
    cached_tokens bigint,
    reasoning_tokens bigint,
    cost_usd double precision,
    primary key (workspace_id, day, provider_id, model, api_key_id)
  )`,
  `insert into usage_days_by_key select workspace_id, day, provider_id, model, '', turns, reported_turns, priced_turns,
    input_tokens, output_tokens, cached_tokens, reasoning_tokens, cost_usd from usage_days`,
  "drop table usage_days",
  "alter table usage_days_by_key rename to usage_days"
]
