/** Durable work and its attempts. `session_id` is the session whose files the work needs, and `node_id` the node that has them. */
export const jobs: ReadonlyArray<string> = [
  `create table jobs (
    id text primary key,
    operation_id text not null,
    workspace_id text references workspaces(id),
    kind text not null,
    state text not null,
    subject_type text not null,
    subject_id text not null,
    payload text not null,
    session_id text,
    node_id text,
    attempt_count integer not null,
    max_attempts integer not null,
    held integer not null,
    run_at text not null,
    cancel_requested integer not null,
    worker_id text,
    boot_id text,
    lease_expires_at text,
    error text,
    created_at text not null,
    finished_at text
  )`,
  `create index jobs_due on jobs (run_at) where state in ('queued', 'retry_wait')`,
  `create index jobs_waiting on jobs (kind, run_at, id) where state in ('queued', 'retry_wait') and held = 0`,
  `create index jobs_running on jobs (lease_expires_at) where state = 'running'`,
  `create index jobs_operation on jobs (operation_id)`,
  `create index jobs_subject on jobs (subject_id)`,
  `create table attempts (
    id text primary key,
    job_id text not null references jobs(id),
    ordinal integer not null,
    state text not null,
    worker_id text not null,
    boot_id text not null,
    started_at text not null,
    heartbeat_at text not null,
    finished_at text,
    error text,
    unique (job_id, ordinal)
  )`
]
