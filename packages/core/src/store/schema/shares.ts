/**
 * Links with which anybody may read a session. A row has the digest of its token while the link is good for anything, so that a link that was taken
 * back is found no more than one that never was.
 */
export const shares: ReadonlyArray<string> = [
  `create table session_shares (
    id text primary key,
    session_id text not null references sessions(id) on delete cascade,
    workspace_id text not null,
    account_id text not null,
    api_key_id text,
    includes text not null,
    digest text unique,
    created_at text not null,
    expires_at text,
    revoked_at text
  )`,
  `create index session_shares_session on session_shares (session_id, id)`
]
