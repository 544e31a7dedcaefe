import type { AccountId, ProjectId, ProjectVersionId, WorkspaceId } from "@reins/base/domain/Ids"
import { Effect, Option, Redacted } from "effect"
import type { Bearer } from "../connections/AccessTokens.js"
import { personalConnections } from "../connections/PersonalConnections.js"
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
  /** The person for whom the server is asked. A server at which each person logs in needs one. */
  readonly accountId?: AccountId | undefined
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
  const personal = yield* personalConnections

  /** The tokens of a server at which each person logs in. */
  const ofPerson = Effect.fnUntraced(function* ({ accountId, workspaceId }: NamingVersion, url: string) {
    const found = accountId === undefined ? undefined : yield* personal(workspaceId, accountId, url)
    return found === undefined ? yield* notLoggedIn(url) : yield* tokens(workspaceId, found.id, url, accountId)
  })

  const tokensOf = (version: NamingVersion, { connection_id, login, url = "" }: ProjectServer) => {
    if (login === "person") return ofPerson(version, url)
    return connection_id === undefined ? undefined : tokens(version.workspaceId, connection_id, url, undefined)
  }

  return Effect.fnUntraced(function* (version: NamingVersion, server: ProjectServer) {
    const { projectId, versionId, workspaceId } = version
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
      tokens: tokensOf(version, server),
      blank: blankSecrets(values)
    }
    return opened
  })
})

const notLoggedIn = (url: string): ServerFailed =>
  new ServerFailed({
    message: `Each person logs in to it, and the one whose message this is has not. Log in: reins connections login ${url} --for-me`,
    mayHaveHappened: false,
    needsAuthorization: true
  })

const missing = (server: string, secret: string, projectId: string): ServerFailed =>
  new ServerFailed({
    message:
      `The server ${server} needs the secret ${secret}, which the project does not have, or which no key of this server opens. ` +
      `Give it with PUT /api/projects/${projectId}/secrets/${secret}.`,
    mayHaveHappened: false
  })
