import type { ProjectId, WorkspaceId } from "@reins/base/domain/Ids"
import { Data, Effect, Option, type Redacted } from "effect"
import type { ProjectSpec } from "./Project.js"
import { projectSecretStore } from "./ProjectSecretStore.js"
import { type EnvironmentUser, isFor } from "./ProjectSetup.js"

/** A spec names a secret that its project does not have. The message says which, and what to do. */
export class SecretMissing extends Data.TaggedError("SecretMissing")<{ readonly message: string }> {}

/** The variables that a process gets. Those that are secrets are redacted. */
export type Variables = Readonly<Record<string, string | Redacted.Redacted>>

/** The environment of a spec for one of its users. */
export interface ProjectEnvironment {
  readonly variables: Variables
  /** The versions of the secrets in it by name. They change with the values and give nothing away. */
  readonly secretVersions: Readonly<Record<string, number>>
}

interface Session {
  readonly workspace_id: WorkspaceId
  readonly project: { readonly id: ProjectId } | null
}

/** Opens the environment of the spec that a session was made from, for its setup or for its agent. */
export const projectEnvironment = Effect.gen(function* () {
  const secrets = yield* projectSecretStore

  return Effect.fnUntraced(function* (
    { project, workspace_id }: Session,
    { environment = [] }: ProjectSpec,
    user: EnvironmentUser
  ) {
    const variables: Record<string, string | Redacted.Redacted> = {}
    const secretVersions: Record<string, number> = {}
    for (const { name, secret, value } of environment.filter(isFor(user))) {
      if (secret === undefined || project === null) {
        variables[name] = value ?? ""
        continue
      }
      const opened = yield* secrets.open({ id: project.id, workspace_id }, secret)
      if (Option.isNone(opened)) return yield* missing(name, secret, project.id)
      variables[name] = opened.value.value
      secretVersions[secret] = opened.value.version
    }
    const found: ProjectEnvironment = { variables, secretVersions }
    return found
  })
})

const missing = (variable: string, secret: string, projectId: string): SecretMissing =>
  new SecretMissing({
    message:
      `The variable ${variable} of the project's environment is the secret ${secret}, which the project does not have, or which no key of ` +
      `this server opens. Give it with PUT /api/projects/${projectId}/secrets/${secret}.`
  })
