/** Apps that people let in by OAuth. Codes and tokens are kept as digests. A used one stays until it expires, so that a replay is noticed. */
export const oauth: ReadonlyArray<string> = [
  `create table oauth_clients (
    id text primary key,
    name text not null,
    redirect_uris text not null,
    created_at text not null,
    allowed_at text not null
  )`,
  `create index oauth_clients_allowed on oauth_clients (allowed_at)`,
  `create table oauth_grants (
    id text primary key,
    account_id text not null references accounts(id),
    workspace_id text not null references workspaces(id),
    key_id text not null references api_keys(id),
    client_id text not null,
    client_name text not null,
    client_host text,
    resource text not null,
    unattended integer not null,
    created_at text not null,
    expires_at text not null
  )`,
  `create index oauth_grants_account on oauth_grants (account_id, id)`,
  `create index oauth_grants_key on oauth_grants (key_id)`,
  `create table oauth_codes (
    hash text primary key,
    account_id text not null references accounts(id),
    workspace_id text not null references workspaces(id),
    login_id text not null,
    client_id text not null,
    client_name text not null,
    client_host text,
    redirect_uri text not null,
    resource text not null,
    challenge text not null,
    scopes text not null,
    unattended integer not null,
    lasts_days integer not null,
    expires_at text not null,
    used_at text,
    grant_id text
  )`,
  `create index oauth_codes_expiry on oauth_codes (expires_at)`,
  `create table oauth_tokens (
    hash text primary key,
    grant_id text not null references oauth_grants(id) on delete cascade,
    kind text not null,
    expires_at text not null,
    used_at text
  )`,
  `create index oauth_tokens_grant on oauth_tokens (grant_id)`,
  `create index oauth_tokens_expiry on oauth_tokens (expires_at)`
]

/** The scopes that an app asked its person for, as a list in JSON, and the way from an app to its access. */
export const askedScopes: ReadonlyArray<string> = [
  `alter table oauth_codes add column asked_scopes text`,
  `alter table oauth_grants add column asked_scopes text`,
  `create index oauth_grants_client on oauth_grants (client_id)`
]

/** The way of the sweep. */
export const oauthSweeps: ReadonlyArray<string> = [`create index oauth_grants_expiry on oauth_grants (expires_at)`]
