/** Browsers that are told of a workspace. An address is sealed, and found by its digest. */
export const push: ReadonlyArray<string> = [
  `create table push_subscriptions (
    id text primary key,
    workspace_id text not null references workspaces(id),
    account_id text not null references accounts(id),
    digest text not null,
    host text not null,
    sealed text not null,
    created_at text not null,
    unique (workspace_id, account_id, digest)
  )`,
  `create index push_subscriptions_account on push_subscriptions (account_id)`
]
