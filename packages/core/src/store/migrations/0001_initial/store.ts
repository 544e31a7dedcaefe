export const store: ReadonlyArray<string> = [
  `create table events (
    session_id text not null references sessions(id),
    seq integer not null,
    type text not null,
    turn_id text,
    envelope text not null,
    primary key (session_id, seq)
  )`,
  `create table idempotency (
    scope text not null,
    key text not null,
    fingerprint text not null,
    status integer not null,
    body text,
    sealed integer not null,
    created_at text not null,
    expires_at text not null,
    primary key (scope, key)
  )`,
  `create index idempotency_expiry on idempotency (expires_at)`,
  `create table readiness (
    id integer primary key,
    checked_at text not null
  )`
]
