/** The files that agents have published. Their contents are rows of 1 MiB, so that copies of the database have them. */
const published = (bytes: "bytea" | "blob"): ReadonlyArray<string> => [
  `create table artifacts (
    id text primary key,
    session_id text not null references sessions(id),
    turn_id text not null references turns(id),
    title text not null,
    path text not null,
    media_type text not null,
    size integer not null,
    digest text not null,
    publish_key text not null,
    created_by text not null,
    created_at text not null,
    unique (session_id, publish_key)
  )`,
  `create index artifacts_session on artifacts (session_id, id)`,
  `create index artifacts_turn on artifacts (turn_id)`,
  `create table artifact_pieces (
    artifact_id text not null references artifacts(id),
    session_id text not null,
    ordinal integer not null,
    bytes ${bytes} not null,
    primary key (artifact_id, ordinal)
  )`,
  `create index artifact_pieces_session on artifact_pieces (session_id)`
]

export const artifacts = { pg: published("bytea"), sqlite: published("blob") } as const
