import { Context, Effect, Layer } from "effect"
import { Access } from "../access/Access.js"
import type { ProjectInput, ProjectPatch, ProjectVersionInput } from "../api/ProjectsApi.js"
import { fn } from "../base/Traced.js"
import { newId, ProjectId, ProjectVersionId, type WorkspaceId } from "../domain/Ids.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import type { Project, ProjectSpec, ProjectVersion } from "../domain/Project.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { now, type Timestamp } from "../domain/Timestamp.js"
import { canonicalJson, digestOf } from "../store/CanonicalJson.js"
import type { Command } from "../store/Command.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { expectVersion } from "../store/Version.js"

/** Projects and their published versions, which never change. */
export class Projects extends Context.Tag("@reins/core/projects/Projects")<
  Projects,
  {
    readonly list: (
      principal: Principal,
      workspaceId: string,
      page: PageRequest
    ) => Effect.Effect<Page<Project>, ReinsError>
    /** Fails with `already_exists` when the workspace has a project of that slug. A spec becomes version 1. */
    readonly create: (principal: Principal, workspaceId: string, input: ProjectInput) => Command<Project, ReinsError>
    readonly get: (principal: Principal, projectId: string) => Effect.Effect<Project, ReinsError>
    readonly update: (principal: Principal, projectId: string, patch: ProjectPatch) => Command<Project, ReinsError>
    /** Oldest first. */
    readonly listVersions: (
      principal: Principal,
      projectId: string,
      page: PageRequest
    ) => Effect.Effect<Page<ProjectVersion>, ReinsError>
    /** The same spec again gives the version that has it. Fails with `invalid_transition` for an archived project. */
    readonly publish: (
      principal: Principal,
      projectId: string,
      input: ProjectVersionInput
    ) => Command<ProjectVersion, ReinsError>
    /** A version of the workspace by its id, or the newest one of a project. */
    readonly resolve: (
      workspaceId: string,
      by: { readonly projectId: string } | { readonly versionId: string }
    ) => Effect.Effect<ProjectVersion, ReinsError<"not_found">>
  }
>() {
  static readonly layer = Layer.effect(
    Projects,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const access = yield* Access
      const sql = db.sql
      const columns = sql.literal(`projects.*, latest.id as latest_id, latest.ordinal as latest_ordinal`)
      const from = sql.literal(`projects left join project_versions latest on latest.project_id = projects.id
      and latest.ordinal = (select max(ordinal) from project_versions where project_id = projects.id)`)

      const find = Effect.fnUntraced(function* (id: string) {
        const row = yield* db.first(sql<ProjectRow>`select ${columns} from ${from} where projects.id = ${id}`)
        return row === undefined ? yield* notFound() : toProject(row)
      })
      const readable = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const project = yield* find(id)
        yield* access.read(principal, project.workspace_id)
        return project
      })
      const locked = Effect.fnUntraced(function* (principal: Principal, id: string) {
        yield* db.run(sql`select id from projects where id = ${id}${db.forUpdate}`)
        const project = yield* find(id)
        yield* access.write(principal, project.workspace_id)
        return project
      })

      /** Connections that a spec names are of its workspace. */
      const requireConnections = Effect.fnUntraced(function* (
        workspaceId: string,
        { connection_ids: ids = [] }: ProjectSpec
      ) {
        for (const id of ids) {
          const found = yield* db.first(
            sql`select id from connections where id = ${id} and workspace_id = ${workspaceId}`
          )
          if (found === undefined) return yield* notFound()
        }
      })

      const addVersion = Effect.fnUntraced(function* (
        workspaceId: string,
        projectId: ProjectId,
        ordinal: number,
        spec: ProjectSpec,
        notes: string | undefined
      ) {
        const digest = digestOf(canonicalJson(spec))
        const known = yield* db.first(sql<VersionRow>`select * from project_versions
        where project_id = ${projectId} and spec_digest = ${digest}`)
        if (known !== undefined) return toVersion(known)
        yield* requireConnections(workspaceId, spec)
        const version: ProjectVersion = {
          id: yield* newId(ProjectVersionId),
          project_id: projectId,
          ordinal,
          spec,
          spec_digest: digest,
          notes: notes ?? null,
          published_at: yield* now
        }
        yield* db.run(sql`insert into project_versions ${sql.insert({ ...version, spec: JSON.stringify(spec) })}`)
        return version
      })

      return Projects.of({
        list: fn("Projects.list")(function* (principal, workspaceId, page) {
          yield* access.read(principal, workspaceId)
          const { before, limit } = yield* Keyset.descending(page)
          const rows = yield* db.all(sql<ProjectRow>`select ${columns} from ${from}
          where projects.workspace_id = ${workspaceId} and projects.id < ${before} order by projects.id desc limit ${limit + 1}`)
          return Keyset.page(rows.map(toProject), limit, (project) => project.id)
        }),
        create: (principal, workspaceId, input) =>
          journal.command(
            "Projects.create",
            Effect.gen(function* () {
              yield* access.write(principal, workspaceId)
              const id = yield* newId(ProjectId)
              const at = yield* now
              const inserted = yield* db.first(
                sql<{ id: string }>`insert into projects ${sql.insert({
                  id,
                  workspace_id: workspaceId,
                  slug: input.slug,
                  name: input.name,
                  description: input.description ?? null,
                  version: 1,
                  created_at: at,
                  updated_at: at
                })} on conflict (workspace_id, slug) do nothing returning id`
              )
              if (inserted === undefined) {
                return yield* new ReinsError({
                  code: "already_exists",
                  message: `This workspace already has a project with the slug "${input.slug}".`,
                  details: { slug: input.slug }
                })
              }
              if (input.spec !== undefined) yield* addVersion(workspaceId, id, 1, input.spec, undefined)
              return yield* find(id)
            })
          ),
        get: readable,
        update: (principal, projectId, patch) =>
          journal.command(
            "Projects.update",
            Effect.gen(function* () {
              const project = yield* locked(principal, projectId)
              yield* expectVersion(project.version, patch.expected_version)
              const at = yield* now
              const archivedAt =
                patch.archived === undefined ? project.archived_at : patch.archived ? (project.archived_at ?? at) : null
              yield* db.run(sql`update projects set name = ${patch.name ?? project.name},
            description = ${patch.description === undefined ? project.description : patch.description}, archived_at = ${archivedAt},
            version = version + 1, updated_at = ${at} where id = ${project.id}`)
              return yield* find(project.id)
            })
          ),
        listVersions: fn("Projects.listVersions")(function* (principal, projectId, page) {
          const project = yield* readable(principal, projectId)
          const { after, limit } = yield* Keyset.ascending(page)
          const rows = yield* db.all(sql<VersionRow>`select * from project_versions
          where project_id = ${project.id} and ordinal > ${after} order by ordinal limit ${limit + 1}`)
          return Keyset.page(rows.map(toVersion), limit, (version) => String(version.ordinal))
        }),
        publish: (principal, projectId, input) =>
          journal.command(
            "Projects.publish",
            Effect.gen(function* () {
              const project = yield* locked(principal, projectId)
              if (project.archived_at !== null) {
                return yield* new ReinsError({
                  code: "invalid_transition",
                  message: "The project is archived. Set archived to false before publishing a version.",
                  details: { resource: "project", archived_at: project.archived_at }
                })
              }
              const ordinal = (project.latest_version?.ordinal ?? 0) + 1
              return yield* addVersion(project.workspace_id, project.id, ordinal, input.spec, input.notes)
            })
          ),
        resolve: fn("Projects.resolve")(function* (workspaceId, by) {
          const which =
            "versionId" in by
              ? sql`project_versions.id = ${by.versionId}`
              : sql`project_versions.project_id = ${by.projectId}`
          const row = yield* db.first(sql<VersionRow>`select project_versions.* from project_versions
          join projects on projects.id = project_versions.project_id
          where projects.workspace_id = ${workspaceId} and ${which} order by project_versions.ordinal desc limit 1`)
          return row === undefined ? yield* notFound() : toVersion(row)
        })
      })
    })
  )
}

interface ProjectRow extends Omit<Project, "latest_version"> {
  readonly workspace_id: WorkspaceId
  readonly latest_id: ProjectVersionId | null
  readonly latest_ordinal: number | null
}

interface VersionRow extends Omit<ProjectVersion, "spec"> {
  readonly spec: string
  readonly published_at: Timestamp
}

const toProject = ({ latest_id, latest_ordinal, ...row }: ProjectRow): Project => ({
  ...row,
  latest_version: latest_id === null || latest_ordinal === null ? null : { id: latest_id, ordinal: latest_ordinal }
})

const toVersion = (row: VersionRow): ProjectVersion => ({ ...row, spec: JSON.parse(row.spec) })
