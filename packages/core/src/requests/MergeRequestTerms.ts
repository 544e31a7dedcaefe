import { cutText } from "@reins/base/base/CutText"
import { oneOf } from "@reins/base/domain/Installed"
import type { Principal } from "@reins/base/domain/Principal"
import { branchName, isRefName } from "@reins/base/domain/RefName"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Forges } from "@reins/machine/forge/Forges"
import { Effect, ParseResult, Schema } from "effect"
import { RepositoryConnections } from "../catalog/RepositoryConnections.js"
import { Connections } from "../connections/Connections.js"
import { notBranch } from "../deliveries/BranchName.js"
import type { Delivery } from "../deliveries/Delivery.js"
import { Projects } from "../projects/Projects.js"
import { gitChoiceOf } from "../sessions/creation/GitChoice.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import type { MergeRequestInput } from "./RequestsApi.js"

/**
 * Gives the function that finds the forge for a merge request of a delivery. The connection of the delivery leads there. Without one, the first that
 * leads to the host of the repository does: of the project version, the session or the workspace. Fails with `connection_required` when none does.
 */
export const forgePlace = Effect.gen(function* () {
  const connections = yield* Connections
  const forges = yield* Forges
  const projects = yield* Projects

  const { ranked } = yield* RepositoryConnections

  /** Those of the project, then that of the session, then the others for the host. */
  const connectionsFor = Effect.fnUntraced(function* (delivery: Delivery, session: SessionRow) {
    const { connection_ids = [] } = yield* projects.specOf(session)
    const own = gitChoiceOf(session.tree).id
    const others = yield* ranked(session.workspace_id, delivery.remote_url ?? "")
    return [...new Set([...connection_ids, ...(own === null ? [] : [own]), ...others.map(({ id }) => id)])]
  })

  return Effect.fnUntraced(function* (principal: Principal, delivery: Delivery, session: SessionRow) {
    const ids = delivery.connection_id === null ? yield* connectionsFor(delivery, session) : [delivery.connection_id]
    for (const id of ids) {
      const connection = yield* connections.get(principal, id)
      if (connection.state !== "active") continue
      const repository = forges.pathOf(connection, delivery.remote_url ?? "")
      const forge = forges.find(connection.kind)
      if (repository !== undefined && forge !== undefined) return { connection, forge: forge.kind, repository }
    }
    const kinds = forges.list.flatMap(({ appKind, kind }) => (appKind === undefined ? [kind] : [kind, appKind]))
    return yield* forgeRequired(kinds)
  })
})

/** The branch to merge into: as asked for, or else the branch that the session started from. */
export const baseBranchOf = (
  session: { readonly tree: Pick<SessionRow["tree"], "base_ref"> },
  delivery: Pick<Delivery, "target_ref">,
  input: MergeRequestInput
): Effect.Effect<string, RequestInvalid> => {
  const named = input.base_branch ?? session.tree.base_ref
  const base = named === null ? null : branchName(named)
  const isBranch = base !== null && isRefName(base) && !base.startsWith("refs/") && base !== delivery.target_ref
  if (input.base_branch !== undefined) {
    return isBranch ? Effect.succeed(base) : Effect.fail(notBranch("base_branch", input.base_branch))
  }
  // A session can start from a commit, whose id is a valid branch name too, or from a tag.
  return isBranch && !isCommitId(base) ? Effect.succeed(base) : Effect.fail(baseNeeded)
}

/** The title in one line: as asked for, or else that of the delivery. */
export const titleOf = (input: MergeRequestInput, delivery: Delivery): string =>
  cutText((input.title ?? delivery.title ?? "Changes by a coding session").replace(/\s+/g, " ").trim(), 250)

const isCommitId = (name: string): boolean => /^[0-9a-f]{40}$/.test(name)

const baseNeeded = new RequestInvalid({
  loc: ["body", "base_branch"],
  issue: new ParseResult.Type(
    Schema.String.ast,
    undefined,
    "The session did not start from a branch, as from a tag or a commit. So the branch to merge into is needed as base_branch"
  ),
  input: null
})

const forgeRequired = (forges: ReadonlyArray<string>): ReinsError<"connection_required"> =>
  new ReinsError({
    code: "connection_required",
    message: `A merge request needs an active connection of the kind ${oneOf(forges)} to the host of the repository. Create one.`
  })
