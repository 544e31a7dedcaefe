/**
 * The last use of each connection for a repository, by its origin and path. It counts while the connection has the same credential, and the next
 * choice of a connection goes by it.
 */
export const catalog: ReadonlyArray<string> = [
  `create table repository_uses (
    workspace_id text not null references workspaces(id) on delete cascade,
    repository text not null,
    connection_id text not null references connections(id) on delete cascade,
    credential_id text not null,
    opens integer not null,
    used_at text not null,
    primary key (workspace_id, repository, connection_id)
  )`
]

/** The optional providers that were enabled, for the whole installation. */
export const enabledProviders: ReadonlyArray<string> = [
  `create table enabled_providers (
    provider_id text primary key,
    enabled_at text not null
  )`
]
