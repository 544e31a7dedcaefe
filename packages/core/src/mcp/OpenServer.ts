import type { ProjectId, ProjectVersionId, WorkspaceId } from "@reins/base/domain/Ids"
import { Effect, Option, Redacted } from "effect"
import type { Bearer } from "../connections/AccessTokens.js"
import { projectSecretStore } from "../projects/ProjectSecretStore.js"
import type { ProjectServer } from "../projects/ProjectServer.js"
import { type Blank, blankSecrets } from "./BlankSecrets.js"
import { ServerFailed } from "./ServerFailed.js"
import { serverTokens } from "./ServerTokens.js"

/** A version of a project that names servers. */
export interface NamingVersion {
  readonly workspaceId: WorkspaceId
  readonly projectId: ProjectId
  readonly versionId: ProjectVersionId
}

/** A server with its secrets. */
export interface OpenServer {
  readonly versionId: ProjectVersionId
  readonly server: ProjectServer
  /** The headers of each request to its address. */
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
  /** The variables of its program. */
  readonly environment: Readonly<Record<string, string | Redacted.Redacted>>
  /** Gives the tokens of its connection; undefined for a server without one. */
  readonly tokens: Effect.Effect<Bearer, ServerFailed> | undefined
  readonly blank: Blank
}

/** Opens the secrets that a server names. Fails for one that the project does not have. */
export const makeOpenServer = Effect.gen(function* () {
  const secrets = yield* projectSecretStore
  const tokens = yield* serverTokens
  return Effect.fnUntraced(function* ({ projectId, versionId, workspaceId }: NamingVersion, server: ProjectServer) {
    const values: Array<Redacted.Redacted> = []
    const valueOf = Effect.fnUntraced(function* (name: string) {
      const opened = yield* secrets.open({ id: projectId, workspace_id: workspaceId }, name)
      if (Option.isNone(opened)) return yield* missing(server.name, name, projectId)
      values.push(opened.value.value)
      return opened.value.value
    })
    const headers: Record<string, Redacted.Redacted> = {}
    for (const [name, { prefix = "", secret }] of Object.entries(server.headers ?? {}))
      headers[name] = Redacted.make(prefix + Redacted.value(yield* valueOf(secret)))
    const environment: Record<string, string | Redacted.Redacted> = {}
    for (const { name, secret, value = "" } of server.environment ?? [])
      environment[name] = secret === undefined ? value : yield* valueOf(secret)
    const opened: OpenServer = {
      versionId,
      server,
      headers,
      environment,
      tokens:
        server.connection_id === undefined ? undefined : tokens(workspaceId, server.connection_id, server.url ?? ""),
      blank: blankSecrets(values)
    }
    return opened
  })
})

const missing = (server: string, secret: string, projectId: string): ServerFailed =>
  new ServerFailed({
    message:
      `The server ${server} needs the secret ${secret}, which the project does not have, or which no key of this server opens. ` +
      `Give it with PUT /api/projects/${projectId}/secrets/${secret}.`,
    mayHaveHappened: false
  })
