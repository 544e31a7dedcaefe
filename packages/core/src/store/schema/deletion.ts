/**
 * The receipts of what was deleted, which outlive it and refer to nothing. `deleted_by` is an actor as JSON. Those of sessions stand apart.
 * The account of `account_id` may read the receipt of a workspace, which has no members any more.
 */
export const deletion: ReadonlyArray<string> = [
  `create table session_deletions (
    session_id text primary key,
    workspace_id text not null,
    deleted_with text,
    deleted_by text not null,
    state text not null,
    operation_id text not null,
    job_id text not null,
    requested_at text not null,
    finished_at text
  )`,
  `create index session_deletions_workspace on session_deletions (workspace_id, session_id)`,
  `create table deletions (
    id text primary key,
    kind text not null,
    workspace_id text,
    account_id text,
    deleted_by text not null,
    state text not null,
    operation_id text not null,
    job_id text not null,
    requested_at text not null,
    finished_at text
  )`
]
