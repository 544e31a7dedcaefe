import { Effect, Option } from "effect"
import { ConnectionKinds } from "../connections/ConnectionKinds.js"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import type { OpenConnection } from "../connections/OpenConnection.js"
import { TokenMint } from "../connections/TokenMint.js"
import { repositoryPlace } from "../domain/RepositoryUrl.js"
import { Forges } from "../forge/Forges.js"
import { GitError } from "../git/GitError.js"
import type { GitCredential } from "../git/RemoteUrl.js"
import { Projects } from "../projects/Projects.js"
import type { SessionRow } from "../sessions/SessionRow.js"

/**
 * The lookup of the credential for the repository of a session, among the connections of its project version; undefined without one. Fails with
 * `auth_required` when the only one that could be meant names no home.
 */
export const gitCredentials = Effect.gen(function* () {
  const projects = yield* Projects
  const connections = yield* ConnectionStore
  const { forGit } = yield* ConnectionKinds
  const forges = yield* Forges
  const mint = yield* TokenMint

  return Effect.fnUntraced(function* (session: SessionRow) {
    const { connection_ids = [] } = yield* projects.specOf(session)
    const url = session.tree.repository ?? ""
    let homeless: string | undefined
    for (const id of connection_ids) {
      // A connection that cannot be opened is passed over, like one of another kind.
      const opened = Option.getOrUndefined(yield* Effect.option(connections.open(session.workspace_id, id)))
      if (opened === undefined || !forGit.includes(opened.kind) || !speaksTo(opened, url)) continue
      if (forges.mayReceive(opened, url)) return toGitCredential(yield* gitToken(mint, opened, url))
      if (isHomeless(opened, forges)) homeless ??= opened.id
    }
    return homeless === undefined
      ? undefined
      : yield* new GitError({ kind: "auth_required", message: noHome(homeless) })
  })
})

/** True when the credential is of the sort that the protocol of a repository takes: keys for SSH, and all others for the web. */
export const speaksTo = (connection: OpenConnection, repositoryUrl: string): boolean => {
  const kind = repositoryPlace(repositoryUrl)?.kind
  return kind === (isSshKey(connection) ? "ssh" : "web")
}

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
