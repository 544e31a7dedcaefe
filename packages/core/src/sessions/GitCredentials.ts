import { Effect, Option } from "effect"
import { ConnectionKinds } from "../connections/ConnectionKinds.js"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import type { OpenConnection } from "../connections/OpenConnection.js"
import { Forges } from "../forge/Forges.js"
import type { GitCredential } from "../git/RemoteUrl.js"
import { Projects } from "../projects/Projects.js"
import type { SessionRow } from "./SessionStore.js"

/** The lookup of the credential for the repository of a session, among the connections of its project version; undefined without one. */
export const gitCredentials = Effect.gen(function* () {
  const projects = yield* Projects
  const connections = yield* ConnectionStore
  const { forGit } = yield* ConnectionKinds
  const forges = yield* Forges

  return Effect.fnUntraced(function* (session: SessionRow) {
    if (session.project_version_id === null) return undefined
    const { spec } = yield* Effect.orDie(
      projects.resolve(session.workspace_id, { versionId: session.project_version_id })
    )
    for (const id of spec.connection_ids ?? []) {
      // A connection that cannot be opened is passed over, like one of another kind.
      const opened = Option.getOrUndefined(yield* Effect.option(connections.open(session.workspace_id, id)))
      if (opened === undefined || !forGit.includes(opened.kind)) continue
      if (forges.mayReceive(opened, session.repository ?? "")) return toGitCredential(opened)
    }
    return undefined
  })
})

/** The secrets of a git or forge connection in the form that git takes. */
export const toGitCredential = ({ secrets, settings }: OpenConnection): GitCredential | undefined => {
  if (secrets["token"] !== undefined) return { token: secrets["token"] }
  return secrets["password"] === undefined
    ? undefined
    : { username: settings["username"] ?? "", password: secrets["password"] }
}
