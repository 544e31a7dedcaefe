/**
 * Where the work of each session stands, as its events tell it: a row is written in the commit of the event. A new session without a turn
 * has none. `seq` is that of the last event that the row holds. `news_seq` is that of the newest event that people want to know of. `news_by` is the
 * account that has caused it. `other_seq` is that of the newest one that another account has caused.
 */
export const work: ReadonlyArray<string> = [
  `create table work_rows (
    session_id text primary key references sessions(id) on delete cascade,
    workspace_id text not null references workspaces(id) on delete cascade,
    state text not null,
    view text not null,
    since text not null,
    seq integer not null,
    news_seq integer not null,
    news_by text,
    other_seq integer not null,
    facts text not null
  )`,
  `create index work_rows_view on work_rows (workspace_id, view, since, session_id)`,
  `create index work_rows_shown on work_rows (workspace_id, since, session_id) where view <> 'archived'`,
  `create table seen_marks (
    account_id text not null references accounts(id) on delete cascade,
    session_id text not null references sessions(id) on delete cascade,
    seq integer not null,
    primary key (account_id, session_id)
  )`,
  `create index seen_marks_session on seen_marks (session_id)`
]
