/** Changesets and their applications. */
export const changes: ReadonlyArray<string> = [
  `create table changesets (
    id text primary key,
    session_id text not null references sessions(id),
    source_turn_id text,
    label text,
    origin text not null,
    state text not null,
    base_commit text,
    tree text,
    subject_digest text,
    files text not null,
    additions integer not null,
    deletions integer not null,
    diagnostics text not null,
    created_at text not null,
    sealed_at text
  )`,
  `create index changesets_session on changesets (session_id, id)`,
  `create table applications (
    id text primary key,
    changeset_id text not null references changesets(id),
    session_id text not null references sessions(id),
    target_session_id text not null references sessions(id),
    turn_id text references turns(id),
    strategy text not null,
    dry_run integer not null,
    state text not null,
    conflicts text not null,
    changed text not null,
    reason text,
    reason_message text,
    created_at text not null,
    finished_at text
  )`,
  `create index applications_target on applications (target_session_id, id)`,
  `create index applications_turn on applications (turn_id) where turn_id is not null`
]

/** `hidden` lists the paths (latin1, in JSON) of which the agent's git hides a version that the changeset does not have; null stands for none. */
export const hiddenFiles: ReadonlyArray<string> = [`alter table changesets add column hidden text`]
