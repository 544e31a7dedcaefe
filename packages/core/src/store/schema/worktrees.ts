/**
 * A session has three rows beside its conversation: its newest lease, its files with their start, and the memory of its agent. Each row comes with
 * the first thing to note. A turn writes these rows, and not the row of the session.
 *
 * Snapshots of sessions and the blobs that they consist of. A blob has a row before it has bytes, and loses its bytes before its row, so that none is
 * left behind without a trace. `blob_sessions` says for which sessions a blob was stored, also when their snapshots need it no more. `unsealed_sessions` says which sessions have changed since their newest snapshot, and `unsealed_uploads` and
 * `unsealed_changesets` what was written and captured since.
 */
export const worktrees: ReadonlyArray<string> = [
  `create table leases (
    session_id text primary key references sessions(id) on delete cascade,
    id text not null,
    state text not null,
    created_at text not null,
    used_at text
  )`,
  `create index leases_idle on leases (used_at) where state = 'ready'`,
  `create table working_trees (
    session_id text primary key references sessions(id) on delete cascade,
    state text not null,
    repository text,
    base_ref text,
    base_commit text,
    sparse text,
    seed text
  )`,
  `create index working_trees_repository on working_trees (repository, session_id) where repository is not null`,
  `create table agent_states (
    session_id text primary key references sessions(id) on delete cascade,
    native_session_id text,
    native_candidate text,
    native_digest text,
    native_paths text,
    native_cost double precision,
    context_lost integer not null default 0,
    told text
  )`,
  `create table snapshots (
    id text primary key,
    session_id text not null references sessions(id),
    epoch integer not null,
    turn_id text,
    manifest text not null,
    created_at text not null
  )`,
  `create index snapshots_session on snapshots (session_id, id)`,
  `create table snapshot_blobs (
    digest text primary key,
    size integer not null,
    state text not null,
    used_at text not null
  )`,
  `create index snapshot_blobs_used on snapshot_blobs (used_at)`,
  `create table blob_sessions (
    session_id text not null references sessions(id),
    digest text not null references snapshot_blobs(digest),
    primary key (session_id, digest)
  )`,
  `create index blob_sessions_digest on blob_sessions (digest)`,
  `create table snapshot_parts (
    snapshot_id text not null references snapshots(id),
    digest text not null references snapshot_blobs(digest),
    primary key (snapshot_id, digest)
  )`,
  `create index snapshot_parts_digest on snapshot_parts (digest)`,
  `create table unsealed_sessions (
    session_id text primary key references sessions(id),
    changes integer not null,
    job_id text,
    since text not null,
    error text
  )`,
  `create index unsealed_sessions_since on unsealed_sessions (since)`,
  `create table unsealed_uploads (
    upload_id text primary key references uploads(id),
    session_id text not null references sessions(id),
    path text not null,
    place text not null,
    mode integer,
    digest text not null references snapshot_blobs(digest)
  )`,
  `create index unsealed_uploads_session on unsealed_uploads (session_id)`,
  `create index unsealed_uploads_digest on unsealed_uploads (digest)`,
  `create table unsealed_changesets (
    changeset_id text primary key references changesets(id),
    session_id text not null references sessions(id),
    digest text not null references snapshot_blobs(digest)
  )`,
  `create index unsealed_changesets_session on unsealed_changesets (session_id)`,
  `create index unsealed_changesets_digest on unsealed_changesets (digest)`
]

/** The connection that git uses for the repository of a session, as JSON of a `GitChoice`. */
export const gitConnections: ReadonlyArray<string> = [`alter table working_trees add column git_connection text`]
