/** The members of workspaces. */
export const access: ReadonlyArray<string> = [
  `create table workspace_members (
    workspace_id text not null references workspaces(id),
    account_id text not null references accounts(id),
    role text not null,
    created_at text not null,
    primary key (workspace_id, account_id)
  )`,
  `create index workspace_members_account on workspace_members (account_id)`
]
