/**
 * The secrets of projects, which the environment of a version names, and the limits that a session asks of its executor, as JSON. Null leaves
 * the limits to the server.
 */
export const projectSetup: ReadonlyArray<string> = [
  `create table project_secrets (
    project_id text not null references projects(id),
    name text not null,
    version integer not null,
    sealed text not null,
    created_at text not null,
    updated_at text not null,
    primary key (project_id, name)
  )`,
  "alter table sessions add column executor_limits text"
]
