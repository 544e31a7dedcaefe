/**
 * Hooks that the world calls, and what came in. A delivery of a hook has one receipt, whose body is kept sealed while it is small.
 */
export const hooks: ReadonlyArray<string> = [
  `create table hooks (
    id text primary key,
    workspace_id text not null references workspaces(id),
    kind text not null,
    label text not null,
    state text not null,
    secret text not null,
    previous_secret text,
    previous_until text,
    registration text,
    created_at text not null,
    updated_at text not null
  )`,
  `create index hooks_workspace on hooks (workspace_id, id)`,
  `create table hook_receipts (
    id text primary key,
    hook_id text not null references hooks(id) on delete cascade,
    delivery_id text not null,
    event text,
    outcome text not null,
    runs integer not null,
    size integer not null,
    digest text not null,
    body text,
    created_at text not null,
    unique (hook_id, delivery_id)
  )`,
  `create index hook_receipts_hook on hook_receipts (hook_id, id)`,
  `create index hook_receipts_created on hook_receipts (created_at)`
]

/** The rest of a receipt, as JSON. 1 in `unproven` is a call that nothing proved, of which few are kept. */
export const hookTold: ReadonlyArray<string> = [
  `alter table hook_receipts add column told text`,
  `alter table hook_receipts add column unproven integer`,
  `create index hook_receipts_digest on hook_receipts (hook_id, digest)`,
  `create index hook_receipts_unproven on hook_receipts (hook_id, id) where unproven = 1`
]
