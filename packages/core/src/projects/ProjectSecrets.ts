import { fn } from "@reins/base/base/Traced"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer, type Redacted } from "effect"
import { Access, type Denied, type Unseen } from "../access/Access.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import type { ProjectSecret } from "./Project.js"
import { projectSecretStore } from "./ProjectSecretStore.js"
import { ProjectStore } from "./ProjectStore.js"

/**
 * The secrets of projects, which the environment of a spec names. A value is sealed when it comes in, and no method gives it back. A replaced
 * value counts from the next setup and the next agent on.
 */
export class ProjectSecrets extends Context.Tag("@reins/core/projects/ProjectSecrets")<
  ProjectSecrets,
  {
    /** The secrets of a project by name. Fails with `not_found` for a project that the principal may not see. */
    readonly list: (
      principal: Principal,
      projectId: string
    ) => Effect.Effect<{ readonly items: ReadonlyArray<ProjectSecret> }, Unseen>
    /** Gives a secret its value, and destroys the one before. */
    readonly put: (
      principal: Principal,
      projectId: string,
      name: string,
      value: Redacted.Redacted
    ) => Command<ProjectSecret, Denied>
    /** Destroys a secret, and gives what it was. Sessions of versions that name it can no longer be set up or started. */
    readonly remove: (principal: Principal, projectId: string, name: string) => Command<ProjectSecret, Denied>
  }
>() {
  static readonly layer = Layer.effect(
    ProjectSecrets,
    Effect.gen(function* () {
      const access = yield* Access
      const journal = yield* Journal
      const projects = yield* ProjectStore
      const secrets = yield* projectSecretStore

      const locked = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const project = yield* projects.lock(id)
        yield* access.write(principal, project.workspace_id)
        return project
      })

      return ProjectSecrets.of({
        list: fn("ProjectSecrets.list")(function* (principal, projectId) {
          const project = yield* projects.find(projectId)
          yield* access.read(principal, project.workspace_id)
          return { items: yield* secrets.list(project.id) }
        }),
        put: (principal, projectId, name, value) =>
          journal.command(
            "ProjectSecrets.put",
            { by: principal, about: { type: "project_secret", id: name, of: projectId } },
            Effect.flatMap(locked(principal, projectId), (project) => secrets.put(project, name, value))
          ),
        remove: (principal, projectId, name) =>
          journal.command(
            "ProjectSecrets.remove",
            { by: principal, about: { type: "project_secret", id: name, of: projectId } },
            Effect.gen(function* () {
              const project = yield* locked(principal, projectId)
              return (yield* secrets.remove(project.id, name)) ?? (yield* notFound())
            })
          )
      })
    })
  )
}
