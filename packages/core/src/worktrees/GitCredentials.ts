import type { ConnectionId } from "@reins/base/domain/Ids"
import { repositoryPlace } from "@reins/base/domain/RepositoryUrl"
import { Forges } from "@reins/machine/forge/Forges"
import type { GitCredential } from "@reins/machine/repository/remote/RemoteUrl"
import { GitError } from "@reins/machine/repository/run/GitError"
import { Effect, Either, Option } from "effect"
import type { RankedConnection } from "../catalog/RepositoryChoice.js"
import { RepositoryConnections, speaksTo } from "../catalog/RepositoryConnections.js"
import { ConnectionKinds } from "../connections/ConnectionKinds.js"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import type { OpenConnection } from "../connections/OpenConnection.js"
import { TokenMint } from "../connections/TokenMint.js"
import { Projects } from "../projects/Projects.js"
import { gitChoiceOf } from "../sessions/creation/GitChoice.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"

/**
 * The lookup of the credential for the repository of a session; undefined without one. The session may name the connection. Without a name, the first
 * of its project that fits counts, and then the best of the workspace. Fails with `auth_required` when a named connection cannot be used, and when
 * the only one of the project that could be meant names no home.
 */
export const gitCredentials = Effect.gen(function* () {
  const projects = yield* Projects
  const connections = yield* ConnectionStore
  const { forGit } = yield* ConnectionKinds
  const forges = yield* Forges
  const mint = yield* TokenMint
  const open = yield* openForGit
  const byHost = yield* connectionsByHost

  /** The first of the project that fits. */
  const ofProject = Effect.fnUntraced(function* (session: SessionRow, url: string) {
    const { connection_ids = [] } = yield* projects.specOf(session)
    let homeless: string | undefined
    for (const id of connection_ids) {
      // A connection that cannot be opened is passed over, like one of another kind.
      const opened = Option.getOrUndefined(yield* Effect.option(connections.open(session.workspace_id, id)))
      if (opened === undefined || !forGit.includes(opened.kind) || !speaksTo(opened, url)) continue
      if (forges.mayReceive(opened, url)) return { found: opened, homeless }
      if (isHomeless(opened, forges)) homeless ??= opened.id
    }
    return { found: undefined, homeless }
  })

  return Effect.fnUntraced(function* (session: SessionRow) {
    const { id: chosen, named } = gitChoiceOf(session.tree)
    const url = session.tree.repository ?? ""
    if (named) {
      return chosen === null ? undefined : toGitCredential(yield* open.named(session.workspace_id, chosen, url))
    }
    const { found, homeless } = yield* ofProject(session, url)
    if (found !== undefined) return toGitCredential(yield* gitToken(mint, found, url))
    for (const candidate of yield* byHost(session)) {
      const opened = yield* open.candidate(session.workspace_id, candidate, url)
      if (opened !== undefined && Either.isRight(opened)) return toGitCredential(opened.right)
      if (opened !== undefined && opened.left.kind !== "auth_required") return yield* opened.left
    }
    return homeless === undefined
      ? undefined
      : yield* new GitError({ kind: "auth_required", message: noHome(homeless) })
  })
})

/** Gives the connections of the workspace for the repository of a session, the best first. The one that it has stays the best until it is refused. */
export const connectionsByHost = Effect.gen(function* () {
  const { ranked } = yield* RepositoryConnections

  return Effect.fnUntraced(function* ({ tree, workspace_id }: SessionRow) {
    if (tree.repository === null) return []
    const all = yield* ranked(workspace_id, tree.repository)
    const chosen = gitChoiceOf(tree).id
    const own = all.find(({ id, opens }) => id === chosen && opens !== false)
    return own === undefined ? all : [own, ...all.filter((each) => each !== own)]
  })
})

/** Opens connections for git, with a token where the credential is a key that makes tokens. */
export const openForGit = Effect.gen(function* () {
  const connections = yield* ConnectionStore
  const { fits } = yield* RepositoryConnections
  const forges = yield* Forges
  const mint = yield* TokenMint

  return {
    /** A connection that somebody has named. Fails with `auth_required` when it cannot be used there. */
    named: Effect.fnUntraced(function* (workspaceId: SessionRow["workspace_id"], id: ConnectionId, url: string) {
      const opened = yield* Effect.mapError(connections.open(workspaceId, id), ({ message }) => refusedUse(message))
      if (isHomeless(opened, forges)) return yield* refusedUse(noHome(opened.id))
      if (!fits(opened, url)) return yield* refusedUse(notAtHome)
      return yield* gitToken(mint, opened, url)
    }),

    /** A connection that nobody has named. Undefined when it cannot be opened, like one that was revoked meanwhile. */
    candidate: Effect.fnUntraced(function* (
      workspaceId: SessionRow["workspace_id"],
      { id }: RankedConnection,
      url: string
    ) {
      const opened = Option.getOrUndefined(yield* Effect.option(connections.open(workspaceId, id)))
      return opened === undefined ? undefined : yield* Effect.either(gitToken(mint, opened, url))
    })
  }
})

/** The error of a repository for which a credential is wanted, and no connection of the workspace has one. An address of SSH has words of its own. */
export const credentialWanted = (url: string): GitError | undefined => {
  const place = repositoryPlace(url)
  return place?.kind === "web"
    ? refusedUse(
        `${place.url.host} wants a credential for the repository, and the workspace has no connection for ${place.url.origin}. ` +
          "Make one with a token of that host, then retry the turn."
      )
    : undefined
}

const refusedUse = (message: string) => new GitError({ kind: "auth_required", message })

/** Says why the credential of a connection is not sent to a repository. */
export const notAtHome =
  "The repository is not at the home of the connection, so its credential is not sent there: use another connection."

/** The key of an app is no key for SSH. */
const isSshKey = ({ secrets, settings }: OpenConnection): boolean =>
  secrets["private_key"] !== undefined && settings["known_hosts"] !== undefined

/** The connection with a token for the repository, where its credential is a key that makes tokens. */
export const gitToken = (
  mint: TokenMint["Type"],
  connection: OpenConnection,
  repositoryUrl: string
): Effect.Effect<OpenConnection, GitError> =>
  Effect.mapError(
    mint.forGit(connection, repositoryUrl),
    ({ kind, message }) =>
      new GitError({
        kind: kind === "rate_limited" || kind === "unavailable" ? "remote_unavailable" : "auth_required",
        message
      })
  )

/** True for a connection that says nowhere where its credential belongs. */
export const isHomeless = ({ kind, settings }: OpenConnection, forges: Forges["Type"]): boolean =>
  forges.find(kind) === undefined && settings["origin"] === undefined

/** Says what to do about a connection that names no home. */
export const noHome = (id: string): string =>
  `The connection ${id} does not say where its credential belongs, so it is sent nowhere. Give the credential again with an origin, ` +
  `as in https://git.example: POST /api/connections/${id}/credential-versions.`

/** The secrets of a git or forge connection in the form that git takes. */
export const toGitCredential = (connection: OpenConnection): GitCredential | undefined => {
  const { secrets, settings } = connection
  if (secrets["token"] !== undefined) return { token: secrets["token"] }
  if (secrets["private_key"] !== undefined && isSshKey(connection)) {
    return { privateKey: secrets["private_key"], knownHosts: settings["known_hosts"] ?? "" }
  }
  return secrets["password"] === undefined
    ? undefined
    : { username: settings["username"] ?? "", password: secrets["password"] }
}
