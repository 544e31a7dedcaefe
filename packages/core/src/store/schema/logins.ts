/**
 * Logins of people at servers of tools, each until its connection is made. `state_hash` is the digest of the secret that comes back with the browser.
 * `sealed` has the verifier of PKCE and the secret of the client. `plan` has the addresses that the login was begun with, as JSON.
 */
export const logins: ReadonlyArray<string> = [
  `create table connection_logins (
    id text primary key,
    workspace_id text not null references workspaces(id) on delete cascade,
    account_id text not null references accounts(id) on delete cascade,
    connection_id text references connections(id) on delete cascade,
    state text not null,
    reason_message text,
    server_url text not null,
    label text not null,
    plan text not null,
    state_hash text not null,
    sealed text,
    created_at text not null,
    expires_at text not null
  )`,
  `create index connection_logins_account on connection_logins (account_id, created_at)`,
  `create index connection_logins_workspace on connection_logins (workspace_id)`,
  `create index connection_logins_connection on connection_logins (connection_id)`,
  `create index connection_logins_expiry on connection_logins (expires_at)`
]
