/**
 * The nodes of an installation on several machines, and the places of the sessions' files. One machine alone writes neither. Times are
 * milliseconds of the database's clock, so that no clock of a machine decides about a lease.
 */
export const nodes: ReadonlyArray<string> = [
  `create table nodes (
    name text primary key,
    boot_id text not null,
    disk_id text not null,
    address text not null,
    role text not null,
    state text not null,
    epoch integer not null,
    expires_at bigint not null,
    providers text not null,
    load integer not null
  )`,
  `create table placements (
    session_id text primary key references sessions(id),
    node_id text,
    node_epoch integer,
    epoch integer not null,
    state text not null,
    placed_at bigint not null
  )`,
  "create index placements_node on placements (node_id, placed_at) where node_id is not null",
  // The session whose files the work needs, and the node that has them.
  "alter table jobs add column session_id text",
  "alter table jobs add column node_id text",
  ...[
    ["'turn'", "select session_id from turns where turns.id = subject_id"],
    ["'session'", "subject_id"],
    ["'changeset'", "select session_id from changesets where changesets.id = subject_id"],
    ["'application'", "select target_session_id from applications where applications.id = subject_id"],
    [
      "'delivery'",
      `select changesets.session_id from deliveries join changesets on changesets.id = deliveries.changeset_id
        where deliveries.id = subject_id`
    ]
  ].map(
    ([type, session]) =>
      `update jobs set session_id = (${session}) where subject_type = ${type} and finished_at is null`
  )
]
