import { canonicalJson, digestOf } from "@reins/base/base/CanonicalJson"
import { newId, ProjectId, ProjectVersionId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import { now } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { areInWorkspace } from "../connections/InWorkspace.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import * as Keyset from "../store/Keyset.js"
import type { Project, ProjectSpec, ProjectVersion } from "./Project.js"

/** A page of projects: the archived ones, or those in use, where it says so. */
export interface ProjectFilter extends PageRequest {
  readonly archived?: boolean
}

/** A new project. It has no version yet. */
export interface NewProject {
  readonly workspaceId: string
  readonly slug: string
  readonly name: string
  readonly description: string | null
}

/** A version, and the time at which its project was archived; null for a project that is in use. */
export interface ResolvedVersion {
  readonly version: ProjectVersion
  readonly archivedAt: string | null
}

/** The rows of projects and of their versions. */
export class ProjectStore extends Context.Tag("@reins/core/projects/ProjectStore")<
  ProjectStore,
  {
    /** The projects of a workspace, newest first. One that is being deleted is found by no method. */
    readonly list: (
      workspaceId: string,
      page: ProjectFilter
    ) => Effect.Effect<Page<Project>, ReinsError<"invalid_cursor">>
    /** Fails when there is no project of that id. */
    readonly find: (projectId: string) => Effect.Effect<Project, ReinsError<"not_found">>
    /** `find`. Other commits cannot lock the project until this one ends. */
    readonly lock: (projectId: string) => Effect.Effect<Project, ReinsError<"not_found">, Commit>
    /** Gives back the id of the new project. Undefined when the workspace has a project of that slug. */
    readonly insert: (project: NewProject) => Effect.Effect<ProjectId | undefined, never, Commit>
    /** Stores the name, the description and the time of archiving, and raises the version that clients see. */
    readonly update: (
      project: Pick<Project, "id" | "name" | "description" | "archived_at">
    ) => Effect.Effect<void, never, Commit>
    /** The versions of a project, oldest first. */
    readonly listVersions: (
      projectId: ProjectId,
      page: PageRequest
    ) => Effect.Effect<Page<ProjectVersion>, ReinsError<"invalid_cursor">>
    /**
     * Adds the next version to a project, or gives back the version that has this spec. Fails with `not_found` for a connection that the
     * workspace does not have.
     */
    readonly addVersion: (
      project: Pick<Project, "id" | "latest_version"> & { readonly workspace_id: string },
      spec: ProjectSpec,
      notes: string | null
    ) => Effect.Effect<ProjectVersion, ReinsError<"not_found">, Commit>
    /** A version of the workspace by its id, or the newest version of a project of the workspace. */
    readonly resolve: (
      workspaceId: string,
      by: { readonly projectId: string } | { readonly versionId: string }
    ) => Effect.Effect<ResolvedVersion, ReinsError<"not_found">>
  }
>() {
  static readonly layer = Layer.effect(
    ProjectStore,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db
      const archivedOr = (archived: boolean | undefined) =>
        sql.literal(archived === undefined ? "" : `and projects.archived_at is ${archived ? "not " : ""}null`)
      const find = Effect.fnUntraced(function* (id: string) {
        const row = yield* db.first(sql<ProjectRow>`${selectProject(sql)}
          where projects.id = ${id} and projects.deleting_at is null`)
        return row === undefined ? yield* notFound() : toProject(row)
      })
      return ProjectStore.of({
        list: Effect.fnUntraced(function* (workspaceId, page) {
          const { before, limit } = yield* Keyset.descending(page)
          const rows = yield* db.all(sql<ProjectRow>`${selectProject(sql)}
            where projects.workspace_id = ${workspaceId} and projects.id < ${before} and projects.deleting_at is null
              ${archivedOr(page.archived)}
            order by projects.id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toProject), limit, (project) => project.id)
        }),
        find,
        lock: (id) => Effect.zipRight(db.run(sql`select id from projects where id = ${id}${db.forUpdate}`), find(id)),
        insert: Effect.fnUntraced(function* ({ description, name, slug, workspaceId }) {
          const id = yield* newId(ProjectId)
          const at = yield* now
          const row = {
            id,
            workspace_id: workspaceId,
            slug,
            name,
            description,
            version: 1,
            created_at: at,
            updated_at: at
          }
          const inserted = yield* db.first(sql`insert into projects ${sql.insert(row)}
            on conflict (workspace_id, slug) do nothing returning id`)
          return inserted === undefined ? undefined : id
        }),
        update: Effect.fnUntraced(function* ({ archived_at, description, id, name }) {
          yield* db.run(sql`update projects set name = ${name}, description = ${description},
            archived_at = ${archived_at}, version = version + 1, updated_at = ${yield* now} where id = ${id}`)
        }),
        listVersions: Effect.fnUntraced(function* (projectId, page) {
          const { after, limit } = yield* Keyset.ascending(page)
          const rows = yield* db.all(sql<VersionRow>`select * from project_versions
            where project_id = ${projectId} and ordinal > ${after} order by ordinal limit ${limit + 1}`)
          return Keyset.page(rows.map(toVersion), limit, (version) => String(version.ordinal))
        }),
        addVersion: (project, spec, notes) => addVersion(db, project, spec, notes),
        resolve: Effect.fnUntraced(function* (workspaceId, by) {
          const wanted =
            "versionId" in by
              ? sql`project_versions.id = ${by.versionId}`
              : sql`project_versions.project_id = ${by.projectId}`
          const row = yield* db.first(sql<
            VersionRow & Pick<Project, "archived_at">
          >`select project_versions.*, projects.archived_at from project_versions
            join projects on projects.id = project_versions.project_id
            where projects.workspace_id = ${workspaceId} and projects.deleting_at is null and ${wanted}
            order by project_versions.ordinal desc limit 1`)
          if (row === undefined) return yield* notFound()
          const { archived_at, ...version } = row
          return { version: toVersion(version), archivedAt: archived_at }
        })
      })
    })
  )
}

const addVersion = Effect.fnUntraced(function* (
  db: Database["Type"],
  { id: projectId, latest_version, workspace_id }: Parameters<ProjectStore["Type"]["addVersion"]>[0],
  spec: ProjectSpec,
  notes: string | null
) {
  const { sql } = db
  const digest = digestOf(canonicalJson(spec))
  const known = yield* db.first(sql<VersionRow>`select * from project_versions
    where project_id = ${projectId} and spec_digest = ${digest}`)
  if (known !== undefined) return toVersion(known)
  const ofServers = (spec.tools?.mcp_servers ?? []).flatMap(({ connection_id }) => connection_id ?? [])
  if (!(yield* areInWorkspace(db, workspace_id, [...(spec.connection_ids ?? []), ...ofServers])))
    return yield* notFound()
  const version: ProjectVersion = {
    id: yield* newId(ProjectVersionId),
    project_id: projectId,
    ordinal: (latest_version?.ordinal ?? 0) + 1,
    spec,
    spec_digest: digest,
    notes,
    published_at: yield* now
  }
  yield* db.run(sql`insert into project_versions ${sql.insert({ ...version, spec: JSON.stringify(spec) })}`)
  return version
})

/** Projects with their newest versions. */
const selectProject = (sql: Database["Type"]["sql"]) => sql`
  select projects.*, latest.id as latest_id, latest.ordinal as latest_ordinal
  from projects left join project_versions latest on latest.project_id = projects.id
    and latest.ordinal = (select max(ordinal) from project_versions where project_id = projects.id)`

interface ProjectRow extends Omit<Project, "latest_version"> {
  readonly deleting_at: string | null
  readonly latest_id: ProjectVersionId | null
  readonly latest_ordinal: number | null
}

interface VersionRow extends Omit<ProjectVersion, "spec"> {
  readonly spec: string
}

const toProject = ({ deleting_at: _, latest_id, latest_ordinal, ...row }: ProjectRow): Project => ({
  ...row,
  latest_version: latest_id === null || latest_ordinal === null ? null : { id: latest_id, ordinal: latest_ordinal }
})

const toVersion = (row: VersionRow): ProjectVersion => ({ ...row, spec: JSON.parse(row.spec) })
