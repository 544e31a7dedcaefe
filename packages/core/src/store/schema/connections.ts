/** Connections and their credentials. A credential is sealed for the workspace, the kind and the settings of its connection. */
export const connections: ReadonlyArray<string> = [
  `create table connections (
    id text primary key,
    workspace_id text not null references workspaces(id),
    kind text not null,
    label text not null,
    settings text not null,
    state text not null,
    health text not null,
    preferred_model text,
    prices text,
    credential_id text,
    version integer not null,
    created_at text not null,
    updated_at text not null
  )`,
  `create index connections_workspace on connections (workspace_id, id)`,
  `create table credentials (
    id text primary key,
    connection_id text not null references connections(id),
    ordinal integer not null,
    state text not null,
    fingerprint text not null,
    last4 text,
    sealed text,
    refresh_holder text,
    refresh_until text,
    posted_by text,
    created_at text not null,
    unique (connection_id, ordinal)
  )`,
  `create table connection_validations (
    id text primary key,
    connection_id text not null references connections(id),
    credential_id text not null references credentials(id),
    state text not null,
    reason text,
    reason_message text,
    observations text not null,
    private_email text,
    created_at text not null,
    started_at text,
    finished_at text
  )`,
  `create index credentials_posted_by on credentials (posted_by)`,
  `create index connection_validations_connection on connection_validations (connection_id, id)`
]
