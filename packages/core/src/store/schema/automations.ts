/**
 * Automations and their runs. An occurrence has one run, which holds sealed what a hook brought for it. A run goes with the session that it works in, and names its turn. The row of an automation that
 * was deleted stays as long as its runs. One of an account that was deleted stays too, and is paused until somebody resumes it.
 */
export const automations: ReadonlyArray<string> = [
  `create table automations (
    id text primary key,
    workspace_id text not null references workspaces(id) on delete cascade,
    name text not null,
    project_id text,
    hook_id text,
    follows integer not null,
    state text not null,
    pause_reason text,
    pause_message text,
    due text not null,
    target text not null,
    options text not null,
    acts_for text not null,
    api_key_id text,
    generation integer not null,
    next_due_at text,
    next_run_at text,
    fire_job_id text,
    failures integer not null,
    spent_tokens bigint not null,
    spent_nano_usd bigint,
    version integer not null,
    created_at text not null,
    updated_at text not null,
    deleted_at text
  )`,
  `create index automations_workspace on automations (workspace_id, id)`,
  `create index automations_hook on automations (hook_id) where hook_id is not null`,
  `create index automations_following on automations (id) where follows = 1`,
  `create table automation_runs (
    id text primary key,
    automation_id text not null references automations(id) on delete cascade,
    workspace_id text not null,
    occurrence text not null,
    kind text not null,
    state text not null,
    reason text,
    reason_message text,
    due_at text not null,
    late_seconds integer not null,
    missed integer,
    retry_of_run_id text,
    session_id text,
    turn_id text,
    budget text,
    expiry_job_id text,
    has_expired integer not null default 0,
    payload text,
    closes integer,
    depth integer not null default 0,
    delivery_id text,
    merge_request_id text,
    undelivered_reason text,
    undelivered_message text,
    created_at text not null,
    started_at text,
    finished_at text,
    unique (automation_id, occurrence)
  )`,
  `create index automation_runs_automation on automation_runs (automation_id, id)`,
  `create index automation_runs_live on automation_runs (automation_id) where state in ('waiting', 'running')`,
  `create unique index automation_runs_turn on automation_runs (turn_id) where turn_id is not null`,
  `create index automation_runs_session on automation_runs (session_id) where session_id is not null`,
  `create index automation_runs_delivery on automation_runs (delivery_id) where delivery_id is not null`,
  `create index automation_runs_started on automation_runs (workspace_id, started_at) where started_at is not null`,
  `create index automation_runs_finished on automation_runs (finished_at) where finished_at is not null`,
  `create index automation_runs_payload on automation_runs (created_at) where payload is not null`
]

/** The way of the sweep. */
export const automationSweeps: ReadonlyArray<string> = [
  `create index automations_deleted on automations (id) where deleted_at is not null`
]
