/** Delegations, their results and waits. `turn_id` is the turn whose agent delegated. */
export const delegations: ReadonlyArray<string> = [
  `create table delegations (
    id text primary key,
    workspace_id text not null references workspaces(id),
    session_id text not null references sessions(id),
    child_session_id text not null unique references sessions(id),
    depth integer not null,
    brief text not null,
    changeset_id text references changesets(id),
    state text not null,
    reason text,
    reason_message text,
    deadline_at text,
    deadline_job_id text,
    turn_id text,
    version integer not null,
    created_at text not null,
    updated_at text not null,
    finished_at text
  )`,
  `create index delegations_session on delegations (session_id, id)`,
  `create index delegations_live on delegations (session_id) where state in ('pending', 'active', 'waiting_result')`,
  `create table delegation_results (
    id text primary key,
    delegation_id text not null unique references delegations(id),
    content text not null,
    author text not null,
    created_at text not null
  )`,
  `create table delegation_waits (
    id text primary key,
    delegation_id text not null unique references delegations(id),
    state text not null,
    created_at text not null,
    settled_at text
  )`
]
