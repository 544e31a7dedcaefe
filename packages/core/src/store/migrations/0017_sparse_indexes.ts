/** Most sessions have no parent and no project, and are made without a write to the indexes of those. */
export const sparseIndexes: ReadonlyArray<string> = [
  "drop index sessions_parent",
  "create index sessions_parent on sessions (parent_session_id, id) where parent_session_id is not null",
  "drop index sessions_project",
  "create index sessions_project on sessions (project_id, id) where project_id is not null"
]
