/** Accounts, logins, API keys and workspaces. The clients that have logged in are kept as digests, so that guesses of strangers stop nobody who is known. */
export const identity: ReadonlyArray<string> = [
  `create table accounts (
    id text primary key,
    email text not null unique,
    display_name text,
    git_name text,
    git_email text,
    password_hash text not null,
    state text not null,
    created_at text not null,
    updated_at text not null
  )`,
  `create table one_time_tokens (
    hash text primary key,
    purpose text not null,
    subject_id text not null,
    created_at text not null,
    expires_at text not null,
    used_at text
  )`,
  `create index one_time_tokens_subject on one_time_tokens (subject_id, purpose)`,
  `create table login_sessions (
    id text primary key,
    hash text not null unique,
    account_id text not null references accounts(id),
    created_at text not null,
    last_seen_at text not null,
    expires_at text not null,
    ended_at text
  )`,
  `create index login_sessions_account on login_sessions (account_id)`,
  `create table throttle_hits (
    id text primary key,
    subject text not null,
    hit_at text not null
  )`,
  `create index throttle_hits_subject on throttle_hits (subject, hit_at)`,
  `create table workspaces (
    id text primary key,
    name text not null,
    personal_account_id text unique references accounts(id),
    retention_session_days integer,
    created_at text not null,
    deleting_at text
  )`,
  `create table workspace_invitations (
    id text primary key,
    workspace_id text not null references workspaces(id),
    email text not null,
    role text not null,
    invited_by text not null references accounts(id),
    created_at text not null,
    expires_at text not null,
    unique (workspace_id, email)
  )`,
  `create table api_keys (
    id text primary key,
    account_id text not null references accounts(id),
    workspace_id text references workspaces(id),
    name text not null,
    prefix text not null,
    last4 text not null,
    hash text not null unique,
    scopes text not null,
    is_app integer not null default 0,
    expires_at text,
    last_used_at text,
    revoked_at text,
    created_at text not null
  )`,
  `create index api_keys_account on api_keys (account_id, id)`,
  `create table known_clients (
    subject text primary key,
    account_id text not null references accounts(id),
    seen_at text not null
  )`,
  `create index known_clients_account on known_clients (account_id)`,
  `create index known_clients_seen on known_clients (seen_at)`
]

/** The ways of the sweeps, and of those who look for the workspaces that delete their old sessions. */
export const identitySweeps: ReadonlyArray<string> = [
  `create index one_time_tokens_expiry on one_time_tokens (expires_at)`,
  `create index login_sessions_ended on login_sessions (id) where ended_at is not null`,
  `create index login_sessions_expiry on login_sessions (expires_at)`,
  `create index login_sessions_seen on login_sessions (last_seen_at)`,
  `create index throttle_hits_time on throttle_hits (hit_at)`,
  `create index workspace_invitations_expiry on workspace_invitations (expires_at)`,
  `create index api_keys_ended_apps on api_keys (id) where is_app = 1 and revoked_at is not null`,
  `create index workspaces_retaining on workspaces (id) where retention_session_days is not null and deleting_at is null`
]
