/**
 * A project that is being deleted is out of sight, and has its id as its slug. A project has versions, skills, and the secrets that the environment of a
 * version names. A version has pins: the tools of servers as it has seen them first.
 */
export const projects: ReadonlyArray<string> = [
  `create table projects (
    id text primary key,
    workspace_id text not null references workspaces(id),
    slug text not null,
    name text not null,
    description text,
    archived_at text,
    deleting_at text,
    version integer not null,
    created_at text not null,
    updated_at text not null,
    unique (workspace_id, slug)
  )`,
  `create table project_versions (
    id text primary key,
    project_id text not null references projects(id),
    ordinal integer not null,
    spec text not null,
    spec_digest text not null,
    notes text,
    published_at text not null,
    unique (project_id, ordinal),
    unique (project_id, spec_digest)
  )`,
  `create table project_secrets (
    project_id text not null references projects(id),
    name text not null,
    version integer not null,
    sealed text not null,
    created_at text not null,
    updated_at text not null,
    primary key (project_id, name)
  )`,
  `create table project_skills (
    project_id text not null references projects(id),
    name text not null,
    digest text not null,
    description text not null,
    bytes integer not null,
    files integer not null,
    content text not null,
    created_at text not null,
    primary key (project_id, name, digest)
  )`,
  `create table project_tool_pins (
    version_id text not null references project_versions(id),
    server text not null,
    tool text not null,
    digest text not null,
    definition text not null,
    primary key (version_id, server, tool)
  )`
]
