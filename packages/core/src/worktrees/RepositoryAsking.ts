import { tmpdir } from "node:os"
import type { ConnectionId, WorkspaceId } from "@reins/base/domain/Ids"
import { Git } from "@reins/machine/git/Git"
import type { GitCredential } from "@reins/machine/repository/remote/RemoteUrl"
import type { GitError } from "@reins/machine/repository/run/GitError"
import { Effect, Either } from "effect"
import type { RankedConnection } from "../catalog/RepositoryChoice.js"
import { RepositoryConnections } from "../catalog/RepositoryConnections.js"
import { Journal } from "../store/Journal.js"
import { openForGit, toGitCredential } from "./GitCredentials.js"

/** A repository of a workspace, and the ref that is asked for. */
export interface AskedRepository {
  readonly workspaceId: WorkspaceId
  readonly url: string
  /** Null for the default branch. */
  readonly ref: string | null
}

/** The commit that a session would start from. */
type Resolved = Effect.Effect.Success<ReturnType<Git["Type"]["resolve"]>>

/** The answer of a remote, and the connection that it was asked with; null for a question without a credential. */
export interface RepositoryAnswer {
  readonly connectionId: ConnectionId | null
  readonly answer: Either.Either<Resolved, GitError>
}

/** The most connections that are tried one after another. */
const mostTried = 3

/** True for the answer to a credential that does not open the repository. Many forges say that there is none. */
export const isAccessRefusal = ({ kind }: GitError): boolean => kind === "auth_required" || kind === "not_found"

/** Gives the functions that ask a remote as a clone would, and note which connections it takes. */
export const repositoryAsking = Effect.gen(function* () {
  const git = yield* Git
  const journal = yield* Journal
  const open = yield* openForGit
  const { note } = yield* RepositoryConnections

  const ask = ({ ref, url }: AskedRepository, credential: GitCredential | undefined) =>
    Effect.either(git.resolve({ url, ref, directory: tmpdir(), ...(credential && { credential }) }))

  const unknown = (asked: AskedRepository): Effect.Effect<RepositoryAnswer> =>
    Effect.map(ask(asked, undefined), (answer) => ({ connectionId: null, answer }))

  return {
    /** Asks without a credential. */
    anonymous: unknown,

    /** Asks with a connection that somebody has named. */
    named: Effect.fnUntraced(function* (asked: AskedRepository, connectionId: ConnectionId) {
      const opened = yield* Effect.either(open.named(asked.workspaceId, connectionId, asked.url))
      const answer: RepositoryAnswer = {
        connectionId,
        answer: Either.isLeft(opened) ? Either.left(opened.left) : yield* ask(asked, toGitCredential(opened.right))
      }
      return answer
    }),

    /**
     * Asks with the connections in their order until the remote takes one. When it takes none, the answer is that to the first. When none could be
     * asked with, the remote is asked without a credential, because a public repository needs none.
     */
    first: Effect.fnUntraced(function* (asked: AskedRepository, connections: ReadonlyArray<RankedConnection>) {
      let refused: RepositoryAnswer | undefined
      for (const connection of connections.slice(0, mostTried)) {
        const { credentialId, id: connectionId } = connection
        const noted = (opens: boolean) =>
          journal.commit(note(asked.workspaceId, asked.url, { connectionId, credentialId, opens }))
        const opened = yield* open.candidate(asked.workspaceId, connection, asked.url)
        // An app that is not installed there makes no token.
        if (opened !== undefined && Either.isLeft(opened) && isAccessRefusal(opened.left)) yield* noted(false)
        if (opened === undefined) continue
        if (Either.isLeft(opened)) {
          if (isAccessRefusal(opened.left)) continue
          return { connectionId, answer: Either.left(opened.left) } satisfies RepositoryAnswer
        }
        const answer = yield* ask(asked, toGitCredential(opened.right))
        const isRefused = Either.isLeft(answer) && isAccessRefusal(answer.left)
        if (isRefused || (Either.isRight(answer) && answer.right.accepted === true)) yield* noted(!isRefused)
        const told: RepositoryAnswer = { connectionId, answer }
        if (!isRefused) return told
        refused ??= told
      }
      return refused ?? (yield* unknown(asked))
    })
  }
})
