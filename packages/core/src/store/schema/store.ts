/**
 * The logs, the answers that are kept for retries, and what all machines of an installation agree on. An event of a workspace without a position is
 * committed and waits for one. The event that tells of the deletion of a session outlives the session. The head of a log has a row of its own, so that numbering takes turns and no position is given twice. An index of scopes
 * and keys, which are long and random, would be most of what a mutation writes. So an answer is found by its `place`, a short digest of both.
 */
export const store: ReadonlyArray<string> = [
  `create table events (
    session_id text not null,
    seq integer not null,
    type text not null,
    turn_id text,
    envelope text not null,
    primary key (session_id, seq)
  )`,
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
  )`,
  `create table idempotency (
    place text primary key,
    scope text not null,
    key text not null,
    fingerprint text not null,
    status integer not null,
    body text,
    sealed integer not null,
    expires_at text not null
  )`,
  `create index idempotency_expiry on idempotency (expires_at)`,
  `create table agreements (
    name text primary key,
    value text not null
  )`,
  `insert into agreements (name, value) values ('min_release', '0.1.0')`,
  `create table readiness (
    id integer primary key,
    checked_at text not null
  )`
]

/** Blobs are in the database only where it is their store, which SQLite never is. */
export const blobs = {
  pg: [
    `create table blob_pieces (
    digest text not null,
    ordinal integer not null,
    bytes bytea not null,
    primary key (digest, ordinal)
  )`
  ],
  sqlite: []
} as const
