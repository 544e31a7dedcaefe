import type { GitError } from "@reins/machine/repository/run/GitError"
import { Effect, Either } from "effect"
import { systemActor } from "../access/Access.js"
import { RepositoryConnections } from "../catalog/RepositoryConnections.js"
import { Projects } from "../projects/Projects.js"
import { type GitChoice, gitChoiceOf, storedChoice } from "../sessions/creation/GitChoice.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { connectionsByHost, credentialWanted } from "./GitCredentials.js"
import { ownedCommits } from "./OwnedCommits.js"
import { isAccessRefusal, repositoryAsking } from "./RepositoryAsking.js"
import { WorkingTreeStore } from "./WorkingTreeStore.js"

const actor = systemActor("workspaces")

/**
 * Gives the function that makes the files of a session with the connection that opens its repository, where the session names none. Of several, the
 * remote tells which one does. The session then has it, and a refused one comes last in the next choice.
 */
export const makeGitSettling = Effect.gen(function* () {
  const projects = yield* Projects
  const commit = yield* ownedCommits
  const store = yield* WorkingTreeStore
  const { firstOf, note } = yield* RepositoryConnections
  const byHost = yield* connectionsByHost
  const asking = yield* repositoryAsking

  /** The connections of the workspace that may be used, unless the project of the session has one. */
  const candidatesOf = Effect.fnUntraced(function* (row: SessionRow, url: string) {
    const { connection_ids = [] } = yield* projects.specOf(row)
    return (yield* firstOf(row.workspace_id, connection_ids, url)) === null ? yield* byHost(row) : []
  })

  const choose = Effect.fnUntraced(function* (row: SessionRow, url: string) {
    const candidates = yield* candidatesOf(row, url)
    const [first] = candidates
    if (first === undefined || candidates.length === 1 || first.opens === true) return first
    const asked = { workspaceId: row.workspace_id, url, ref: row.tree.base_commit ?? row.tree.base_ref }
    const { answer, connectionId } = yield* asking.first(asked, candidates)
    if (Either.isLeft(answer) && isAccessRefusal(answer.left)) return first
    return candidates.find(({ id }) => id === connectionId)
  })

  return Effect.fnUntraced(function* <A>(row: SessionRow, make: (row: SessionRow) => Effect.Effect<A, GitError>) {
    const url = row.tree.repository
    const before = gitChoiceOf(row.tree)
    if (url === null || before.named) return yield* make(row)
    const chosen = yield* choose(row, url)
    const choice: GitChoice = chosen === undefined ? before : { id: chosen.id, named: false }
    if (choice.id !== before.id) yield* commit(row.id, store.connect(row.id, choice, actor))
    const use = chosen && { connectionId: chosen.id, credentialId: chosen.credentialId, opens: false }
    const settled = { ...row, tree: { ...row.tree, git_connection: storedChoice(choice) } }
    return yield* make(settled).pipe(
      Effect.tapError((error) =>
        use !== undefined && isAccessRefusal(error) ? commit(row.id, note(row.workspace_id, url, use)) : Effect.void
      ),
      Effect.mapError((error) =>
        choice.id === null && error.kind === "auth_required" ? (credentialWanted(url) ?? error) : error
      )
    )
  })
})
