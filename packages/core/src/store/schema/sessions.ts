/**
 * Conversations, and what they use.
 *
 * An index whose condition names the watermark of a session makes PostgreSQL write every index of its row anew with each event. So `sessions_closed`
 * asks for `has_events`. That column changes with the first event and when the events are deleted. Most sessions have no parent and no project, and are
 * made without a write to the indexes of those. Labels have no longest length, and an index of PostgreSQL has, so a digest stands for each.
 * A session that is being deleted has `deleting_at`, and nobody sees it any more.
 * `usage_days` is kept by API key, where the empty text stands for none. Money is whole billionths of a US dollar, because sums of fractions drift.
 */
export const sessions: ReadonlyArray<string> = [
  `create table sessions (
    id text primary key,
    workspace_id text not null references workspaces(id),
    project_id text references projects(id),
    project_version_id text references project_versions(id),
    title text,
    labels text not null,
    provider_id text not null,
    model text,
    options text,
    permissions text,
    connection_id text references connections(id),
    backend text not null,
    executor_limits text,
    parent_session_id text references sessions(id),
    parent_delegation_id text,
    linked_from_session_id text references sessions(id),
    link_kind text,
    auto_capture integer not null,
    lifecycle text not null,
    usage text not null,
    api_key_id text,
    event_watermark integer not null,
    first_event_seq integer not null default 1,
    has_events integer not null default 1,
    message_count integer not null,
    turn_count integer not null,
    version integer not null,
    created_at text not null,
    updated_at text not null,
    archived_at text,
    closed_at text,
    deleting_at text
  )`,
  `create index sessions_workspace on sessions (workspace_id, id)`,
  `create index sessions_closed on sessions (id) where lifecycle = 'closed' and has_events = 1`,
  `create index sessions_parent on sessions (parent_session_id, id) where parent_session_id is not null`,
  `create index sessions_project on sessions (project_id, id) where project_id is not null`,
  `create index sessions_lifecycle on sessions (workspace_id, lifecycle, id)`,
  `create index sessions_connection on sessions (connection_id)`,
  `create table messages (
    id text primary key,
    session_id text not null references sessions(id),
    ordinal integer not null,
    role text not null,
    kind text not null,
    author text not null,
    routing text not null,
    content text not null,
    parts text,
    steering text,
    turn_id text,
    state text not null,
    created_at text not null,
    unique (session_id, ordinal)
  )`,
  `create table turns (
    id text primary key,
    session_id text not null references sessions(id),
    ordinal integer not null,
    message_id text not null references messages(id),
    job_id text not null,
    state text not null,
    reason text,
    reason_message text,
    outcome text,
    usage text not null,
    settings text not null,
    api_key_id text,
    retry_of_turn_id text,
    acknowledged_at text,
    created_at text not null,
    started_at text,
    finished_at text,
    unique (session_id, ordinal)
  )`,
  `create table uploads (
    id text primary key,
    session_id text not null references sessions(id),
    path text not null,
    place text not null,
    size integer not null,
    digest text not null,
    created_at text not null
  )`,
  `create index uploads_session on uploads (session_id)`,
  `create index turns_live on turns (session_id, state)`,
  `create table interactions (
    id text primary key,
    session_id text not null references sessions(id),
    turn_id text not null references turns(id),
    kind text not null,
    title text not null,
    description text,
    tool_id text,
    budget_of text,
    options text not null,
    form text,
    url text,
    default_option text,
    state text not null,
    answer text,
    note text,
    content text,
    tool text,
    call_key text,
    claim text,
    result text,
    is_error integer not null default 0,
    expires_at text not null,
    created_at text not null,
    resolved_at text
  )`,
  `create index interactions_calls on interactions (call_key) where call_key is not null`,
  `create index interactions_open_calls on interactions (expires_at) where state = 'pending' and call_key is not null`,
  `create index interactions_session on interactions (session_id, id)`,
  `create index interactions_pending on interactions (turn_id) where state = 'pending'`,
  `create index messages_steering on messages (turn_id) where steering is not null`,
  `create index turns_unsettled on turns (session_id)
    where finished_at is null or (state = 'interrupted' and acknowledged_at is null)`,
  `create table session_labels (
    workspace_id text not null,
    label_digest text not null,
    session_id text not null references sessions(id),
    primary key (workspace_id, label_digest, session_id)
  )`,
  `create index session_labels_session on session_labels (session_id)`,
  `create table session_disk (
    session_id text primary key references sessions(id),
    workspace_id text not null,
    bytes bigint not null,
    measured_at text not null
  )`,
  `create index session_disk_workspace on session_disk (workspace_id)`,
  `create table usage_days (
    workspace_id text not null,
    day text not null,
    provider_id text not null,
    model text not null,
    api_key_id text not null,
    turns bigint not null,
    reported_turns bigint not null,
    priced_turns bigint not null,
    input_tokens bigint,
    output_tokens bigint,
    cached_tokens bigint,
    reasoning_tokens bigint,
    cost_usd double precision,
    primary key (workspace_id, day, provider_id, model, api_key_id)
  )`,
  `create table model_calls (
    id text primary key,
    workspace_id text not null,
    session_id text not null references sessions(id),
    turn_id text not null references turns(id),
    provider_id text not null,
    protocol text not null,
    model text,
    has_tools integer,
    outcome text not null,
    status integer,
    day text not null,
    started_at text not null,
    ended_at text not null,
    input_tokens bigint,
    cached_tokens bigint,
    cache_written_tokens bigint,
    output_tokens bigint,
    reasoning_tokens bigint,
    cost_nano_usd bigint
  )`,
  `create index model_calls_turn on model_calls (turn_id)`,
  `create index model_calls_session on model_calls (session_id)`,
  `create index model_calls_workspace on model_calls (workspace_id, day)`,
  `create table turn_results (
    turn_id text primary key references turns(id),
    session_id text not null references sessions(id),
    schema text,
    required integer not null,
    result text,
    tries integer not null,
    errors text
  )`,
  `create index turn_results_session on turn_results (session_id)`,
  `create table offered_tools (
    owner_id text primary key,
    session_id text not null references sessions(id),
    own text,
    functions text not null
  )`,
  `create index offered_tools_session on offered_tools (session_id)`
]

/** Who has asked for a turn that tries another one again, as the actor of its first event. Null for a turn of its message. */
export const turnAskers: ReadonlyArray<string> = [`alter table turns add column asked_by text`]

/** The subject of an approval, as JSON. It is null for other questions, and for those of earlier releases. */
export const interactionSubjects: ReadonlyArray<string> = [`alter table interactions add column subject text`]

/**
 * The words of titles and messages. A row is a title or a message, and goes with its session. The words of a deleted text are taken out of FTS5 at
 * once, and not with a later merge.
 */
export const search = {
  pg: [
    `create table search_documents (
      id bigint generated always as identity primary key,
      session_id text not null references sessions(id),
      kind text not null,
      words tsvector not null
    )`,
    `create index search_documents_words on search_documents using gin (words)`,
    `create index search_documents_session on search_documents (session_id, kind)`
  ],
  sqlite: [
    `create table search_documents (
      id integer primary key,
      session_id text not null references sessions(id),
      kind text not null,
      words text not null
    )`,
    `create index search_documents_session on search_documents (session_id, kind)`,
    `create virtual table search_words using fts5(
      words, content='search_documents', content_rowid='id', detail=none, tokenize='ascii'
    )`,
    `insert into search_words (search_words, rank) values ('secure-delete', 1)`
  ]
} as const
