import { Effect, ParseResult, Schema } from "effect"
import { cutText } from "../base/CutText.js"
import { Connections } from "../connections/Connections.js"
import { oneOf } from "../domain/Installed.js"
import type { Principal } from "../domain/Principal.js"
import { branchName, isRefName } from "../domain/RefName.js"
import { ReinsError } from "../domain/ReinsError.js"
import { RequestInvalid } from "../domain/RequestInvalid.js"
import { Forges } from "../forge/Forges.js"
import { Projects } from "../projects/Projects.js"
import type { SessionRow } from "../sessions/SessionRow.js"
import { notBranch } from "./BranchName.js"
import type { MergeRequestInput } from "./ChangesApi.js"
import type { Delivery } from "./Delivery.js"

/**
 * Gives the function that finds the forge for a merge request of a delivery: the connection of the delivery, or else the first connection of
 * the project version that leads to the host of the repository. Fails with `connection_required` when none does.
 */
export const forgePlace = Effect.gen(function* () {
  const connections = yield* Connections
  const forges = yield* Forges
  const projects = yield* Projects

  const projectConnections = (session: SessionRow) =>
    Effect.map(projects.specOf(session), ({ connection_ids = [] }) => connection_ids)

  return Effect.fnUntraced(function* (principal: Principal, delivery: Delivery, session: SessionRow) {
    const ids = delivery.connection_id === null ? yield* projectConnections(session) : [delivery.connection_id]
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
  session: SessionRow,
  delivery: Delivery,
  input: MergeRequestInput
): Effect.Effect<string, RequestInvalid> => {
  const base = input.base_branch === undefined ? session.tree.base_ref : branchName(input.base_branch)
  const isBranch = base !== null && isRefName(base) && base !== delivery.target_ref
  if (input.base_branch !== undefined) {
    return isBranch ? Effect.succeed(base) : Effect.fail(notBranch("base_branch", input.base_branch))
  }
  // A session can start from a commit, whose id is a valid branch name too.
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
    "The session did not start from a branch, so the branch to merge into is needed"
  ),
  input: null
})

const forgeRequired = (forges: ReadonlyArray<string>): ReinsError<"connection_required"> =>
  new ReinsError({
    code: "connection_required",
    message: `A merge request needs an active connection of the kind ${oneOf(forges)} to the host of the repository. Create one, then name it in the delivery or in the project.`
  })
