/**
 * A test is a delivery without an event of a session, and an endpoint can ask to be left alone for a while. What waits is read by its position,
 * and tests go first. A delivery that has ended and is made again by hand has all of its attempts once more: they are counted from the number
 * that it had then.
 */
const indexes: ReadonlyArray<string> = [
  `create index webhook_deliveries_pending on webhook_deliveries (endpoint_id, coalesce(position, 0))
    where state = 'pending'`,
  "create index webhook_deliveries_failed on webhook_deliveries (endpoint_id, id) where state = 'failed'"
]

const pause = "alter table webhook_endpoints add column paused_until text"

const onPostgres: ReadonlyArray<string> = [
  "alter table webhook_deliveries alter column position drop not null",
  "alter table webhook_deliveries alter column session_id drop not null",
  "alter table webhook_deliveries alter column seq drop not null",
  "alter table webhook_deliveries add column series_from integer not null default 0",
  "drop index webhook_deliveries_pending"
]

/** SQLite cannot take a condition from a column, so that both tables are made anew. Their indexes go with the old ones. */
const onSqlite: ReadonlyArray<string> = [
  `create table new_deliveries (
    id text primary key,
    endpoint_id text not null references webhook_endpoints(id),
    position integer,
    session_id text,
    seq integer,
    event_id text not null,
    type text not null,
    state text not null,
    attempt_count integer not null,
    retry_at text,
    created_at text not null,
    finished_at text,
    series_from integer not null default 0,
    unique (endpoint_id, position)
  )`,
  `insert into new_deliveries (id, endpoint_id, position, session_id, seq, event_id, type, state, attempt_count, retry_at,
    created_at, finished_at) select id, endpoint_id, position, session_id, seq, event_id, type, state, attempt_count, retry_at,
    created_at, finished_at from webhook_deliveries`,
  `create table new_attempts (
    delivery_id text not null references new_deliveries(id),
    ordinal integer not null,
    started_at text not null,
    duration_ms integer not null,
    status integer,
    error text,
    answer text,
    primary key (delivery_id, ordinal)
  )`,
  `insert into new_attempts select delivery_id, ordinal, started_at, duration_ms, status, error, answer from webhook_attempts`,
  "drop table webhook_attempts",
  "drop table webhook_deliveries",
  "alter table new_deliveries rename to webhook_deliveries",
  "alter table new_attempts rename to webhook_attempts",
  "create index webhook_deliveries_endpoint on webhook_deliveries (endpoint_id, id)",
  `create index webhook_deliveries_waiting on webhook_deliveries (endpoint_id, session_id)
    where state = 'pending' and retry_at is not null`,
  "create index webhook_deliveries_finished on webhook_deliveries (finished_at) where finished_at is not null"
]

/** The statements of each dialect. */
export const webhookTests = {
  pg: [pause, ...onPostgres, ...indexes],
  sqlite: [pause, ...onSqlite, ...indexes]
} as const
