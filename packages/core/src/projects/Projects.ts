import { fn } from "@reins/base/base/Traced"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { now } from "@reins/base/domain/Timestamp"
import { Git } from "@reins/machine/git/Git"
import { checkPosted } from "@reins/machine/git/PostedUrl"
import { Context, Effect, Layer } from "effect"
import { Access, type Denied, type Unseen } from "../access/Access.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { expectVersion } from "../store/Version.js"
import type { Project, ProjectSpec, ProjectVersion } from "./Project.js"
import { type ProjectFilter, ProjectStore } from "./ProjectStore.js"
import type { ProjectInput, ProjectPatch, ProjectVersionInput } from "./ProjectsApi.js"
import { requireServerConnections } from "./ServerConnections.js"
import { requireServerQuota } from "./ServerQuota.js"
import { requireSkills } from "./Skills.js"

/**
 * Projects and their published versions, which never change. A project that the principal may not see is `not_found`; one that it may see and
 * not change is `forbidden` to a command.
 */
export class Projects extends Context.Tag("@reins/core/projects/Projects")<
  Projects,
  {
    /** The projects of a workspace, newest first, archived ones too. A workspace that the principal does not belong to is `not_found`. */
    readonly list: (
      principal: Principal,
      workspaceId: string,
      page: ProjectFilter
    ) => Effect.Effect<Page<Project>, Unseen | ReinsError<"invalid_cursor">>
    /**
     * Makes a project; a spec that is given with it becomes version 1. Fails with `already_exists` when the workspace has a project of that
     * slug, an archived one too, with `not_found` for a connection of the spec that the workspace does not have, and with `RequestInvalid` for a
     * repository that this installation never contacts, for too many servers or tools, and for a skill, because a new project has none.
     */
    readonly create: (
      principal: Principal,
      workspaceId: string,
      input: ProjectInput
    ) => Command<Project, Denied | ReinsError<"already_exists"> | RequestInvalid>
    /** A project with the number of its newest version. */
    readonly get: (principal: Principal, projectId: string) => Effect.Effect<Project, Unseen>
    /**
     * Changes what is given and leaves the rest: the name, the description, and whether the project is archived. Its versions stay as they
     * are. Fails with `version_conflict` when the project has changed since the version that the caller expects.
     */
    readonly update: (
      principal: Principal,
      projectId: string,
      patch: ProjectPatch
    ) => Command<Project, Denied | ReinsError<"version_conflict">>
    /** The versions of a project, oldest first. */
    readonly listVersions: (
      principal: Principal,
      projectId: string,
      page: PageRequest
    ) => Effect.Effect<Page<ProjectVersion>, Unseen | ReinsError<"invalid_cursor">>
    /**
     * Adds a version; versions are numbered from 1. The same spec again gives back the version that has it. Fails with `invalid_transition` for
     * an archived project, with `not_found` for a connection of the spec that the workspace does not have, and with `RequestInvalid` for a
     * repository that this installation never contacts, for too many servers or tools, and for a skill that the project does not have.
     */
    readonly publish: (
      principal: Principal,
      projectId: string,
      input: ProjectVersionInput
    ) => Command<ProjectVersion, Denied | ReinsError<"invalid_transition"> | RequestInvalid>
    /**
     * A version of the workspace by its id, or the newest version of a project of the workspace, for rooms that have checked access to the
     * workspace.
     */
    readonly resolve: (
      workspaceId: string,
      by: Parameters<ProjectStore["Type"]["resolve"]>[1]
    ) => Effect.Effect<ProjectVersion, ReinsError<"not_found">>
    /** The spec that a session was made from; an empty one for a session without a project, and for one whose project is being deleted. */
    readonly specOf: (session: {
      readonly workspace_id: string
      readonly project: { readonly version_id: string } | null
    }) => Effect.Effect<ProjectSpec>
    /** `resolve` for a new session. Fails with `invalid_transition` for a project that is archived or has no version yet. */
    readonly start: (
      workspaceId: string,
      by: Parameters<ProjectStore["Type"]["resolve"]>[1]
    ) => Effect.Effect<ProjectVersion, ReinsError<"not_found" | "invalid_transition">>
  }
>() {
  static readonly layer = Layer.effect(
    Projects,
    Effect.gen(function* () {
      const journal = yield* Journal
      const access = yield* Access
      const store = yield* ProjectStore
      const git = yield* Git
      const checkSkills = yield* requireSkills
      const checkConnections = yield* requireServerConnections
      const checkQuota = yield* requireServerQuota

      const readable = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const project = yield* store.find(id)
        yield* access.read(principal, project.workspace_id)
        return project
      })
      const locked = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const project = yield* store.lock(id)
        yield* access.write(principal, project.workspace_id)
        return project
      })

      return Projects.of({
        list: fn("Projects.list")(function* (principal, workspaceId, page) {
          yield* access.read(principal, workspaceId)
          return yield* store.list(workspaceId, page)
        }),
        create: (principal, workspaceId, { description = null, name, slug, spec }) =>
          journal.command(
            "Projects.create",
            { by: principal, about: { type: "workspace", id: workspaceId } },
            Effect.gen(function* () {
              yield* access.write(principal, workspaceId)
              yield* checkPosted(git, ["body", "spec", "repository"], spec?.repository)
              if (spec !== undefined) yield* checkQuota(spec)
              if (spec !== undefined) yield* checkSkills("", spec)
              if (spec !== undefined) yield* checkConnections(workspaceId, spec)
              const id = yield* store.insert({ workspaceId, slug, name, description })
              if (id === undefined) return yield* slugTaken(slug)
              if (spec !== undefined)
                yield* store.addVersion({ id, workspace_id: workspaceId, latest_version: null }, spec, null)
              return yield* store.find(id)
            })
          ),
        get: fn("Projects.get")(readable),
        update: (principal, projectId, { archived, description, expected_version, name }) =>
          journal.command(
            "Projects.update",
            { by: principal, about: { type: "project", id: projectId } },
            Effect.gen(function* () {
              const project = yield* locked(principal, projectId)
              yield* expectVersion(project.version, expected_version)
              yield* store.update({
                id: project.id,
                name: name ?? project.name,
                description: description === undefined ? project.description : description,
                archived_at:
                  archived === false ? null : archived ? (project.archived_at ?? (yield* now)) : project.archived_at
              })
              return yield* store.find(project.id)
            })
          ),
        listVersions: fn("Projects.listVersions")(function* (principal, projectId, page) {
          const project = yield* readable(principal, projectId)
          return yield* store.listVersions(project.id, page)
        }),
        publish: (principal, projectId, { notes = null, spec }) =>
          journal.command(
            "Projects.publish",
            { by: principal, about: { type: "project", id: projectId } },
            Effect.gen(function* () {
              const project = yield* locked(principal, projectId)
              if (project.archived_at !== null) return yield* archived(project.archived_at, "publishing a version")
              yield* checkPosted(git, ["body", "spec", "repository"], spec.repository)
              yield* checkQuota(spec)
              yield* checkSkills(project.id, spec)
              yield* checkConnections(project.workspace_id, spec)
              return yield* store.addVersion(project, spec, notes)
            })
          ),
        resolve: fn("Projects.resolve")((workspaceId, by) =>
          Effect.map(store.resolve(workspaceId, by), ({ version }) => version)
        ),
        specOf: ({ project, workspace_id }) =>
          project === null
            ? Effect.succeed({})
            : Effect.match(store.resolve(workspace_id, { versionId: project.version_id }), {
                onFailure: () => ({}),
                onSuccess: ({ version }) => version.spec
              }),
        start: fn("Projects.start")(makeStart(store))
      })
    })
  )
}

const slugTaken = (slug: string) =>
  new ReinsError({
    code: "already_exists",
    message: `This workspace already has a project with the slug "${slug}".`,
    details: { slug }
  })

/** Gives the function that finds the version of a new session. */
const makeStart = (store: ProjectStore["Type"]) =>
  function* (workspaceId: string, by: Parameters<ProjectStore["Type"]["resolve"]>[1]) {
    const { archivedAt, version } = yield* Effect.catchAll(store.resolve(workspaceId, by), (error) =>
      "versionId" in by ? error : Effect.zipRight(requireVersion(store, workspaceId, by.projectId), error)
    )
    return archivedAt === null ? version : yield* archived(archivedAt, "starting a session from it")
  }

/** Fails with what to do for a project of the workspace that has no version yet. */
const requireVersion = Effect.fnUntraced(function* (store: ProjectStore["Type"], workspaceId: string, id: string) {
  const project = yield* store.find(id)
  if (project.workspace_id === workspaceId && project.latest_version === null) return yield* unpublished(id)
})

const unpublished = (id: string) =>
  new ReinsError({
    code: "invalid_transition",
    message: `The project has no version yet. Publish one with POST /api/projects/${id}/versions.`,
    details: { resource: "project" }
  })

const archived = (archivedAt: string, before: string) =>
  new ReinsError({
    code: "invalid_transition",
    message: `The project is archived. PATCH it with archived: false before ${before}.`,
    details: { resource: "project", archived_at: archivedAt }
  })
