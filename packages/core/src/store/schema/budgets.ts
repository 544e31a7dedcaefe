/**
 * Budgets by the id of what has them: a turn, a session, an API key or a workspace. A model call that a budget lets out has a row until it is
 * settled. The row has the estimate that counts when its end is never seen, and the ids of all whose budgets it counts for.
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
  `create index calls_in_flight_turn on calls_in_flight (turn_id)`
]
