/**
 * Endpoints of webhooks, their deliveries and the attempts of these. Only the first delivery that waits in a session has a time of a retry. A test is a
 * delivery without an event of a session. One that is made again by hand has all of its attempts once more, counted from `series_from`.
 */
export const webhooks: ReadonlyArray<string> = [
  `create table webhook_endpoints (
    id text primary key,
    workspace_id text not null references workspaces(id),
    url text not null,
    description text,
    types text,
    project_id text,
    label text,
    state text not null,
    disabled_reason text,
    failing_since text,
    paused_until text,
    secret text not null,
    previous_secret text,
    previous_until text,
    created_at text not null,
    updated_at text not null
  )`,
  `create index webhook_endpoints_workspace on webhook_endpoints (workspace_id, id)`,
  `create table webhook_deliveries (
    id text primary key,
    endpoint_id text not null references webhook_endpoints(id),
    position integer,
    session_id text,
    seq integer,
    event_id text not null,
    type text not null,
    state text not null,
    attempt_count integer not null,
    series_from integer not null default 0,
    retry_at text,
    created_at text not null,
    finished_at text,
    unique (endpoint_id, position)
  )`,
  `create index webhook_deliveries_endpoint on webhook_deliveries (endpoint_id, id)`,
  `create index webhook_deliveries_pending on webhook_deliveries (endpoint_id, coalesce(position, 0))
    where state = 'pending'`,
  `create index webhook_deliveries_failed on webhook_deliveries (endpoint_id, id) where state = 'failed'`,
  `create index webhook_deliveries_waiting on webhook_deliveries (endpoint_id, session_id)
    where state = 'pending' and retry_at is not null`,
  `create index webhook_deliveries_finished on webhook_deliveries (finished_at) where finished_at is not null`,
  `create table webhook_attempts (
    delivery_id text not null references webhook_deliveries(id),
    ordinal integer not null,
    started_at text not null,
    duration_ms integer not null,
    status integer,
    error text,
    answer text,
    primary key (delivery_id, ordinal)
  )`
]
