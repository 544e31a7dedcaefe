import { tmpdir } from "node:os"
import { Context, Duration, Effect, Layer } from "effect"
import { Access, type Denied } from "../access/Access.js"
import { fn } from "../base/Traced.js"
import type { Principal } from "../domain/Principal.js"
import { Git } from "../git/Git.js"
import type { GitError } from "../git/GitError.js"
import type { RepositoryCheck, RepositoryQuery } from "./RepositoryCheck.js"

/** The time that a person waits for the answer of a remote. */
const patience = Duration.seconds(20)

/** The repositories that sessions could start from. */
export class Repositories extends Context.Tag("@reins/core/worktrees/Repositories")<
  Repositories,
  {
    /**
     * Asks the remote for what is asked, as a clone would and without a credential. What a remote says is an answer and no failure. Only
     * members who could make a session may ask, because the service sends a request.
     */
    readonly check: (
      principal: Principal,
      workspaceId: string,
      query: RepositoryQuery
    ) => Effect.Effect<RepositoryCheck, Denied>
  }
>() {
  static readonly layer = Layer.effect(
    Repositories,
    Effect.gen(function* () {
      const access = yield* Access
      const git = yield* Git
      return Repositories.of({
        check: fn("Repositories.check")(function* (principal, workspaceId, { ref = null, url }) {
          yield* access.write(principal, workspaceId)
          const answer = git.resolve({ url, ref, directory: tmpdir() }).pipe(
            Effect.map((found): RepositoryCheck => ({ url, state: "found", message: null, ...found })),
            Effect.catchAll((error) => Effect.succeed(notFound(url, stateOf(error), error.message))),
            Effect.timeoutTo({
              duration: patience,
              onSuccess: (check) => check,
              onTimeout: () => notFound(url, "unavailable", "The remote did not answer in time.")
            })
          )
          return yield* answer
        })
      })
    })
  )
}

const notFound = (url: string, state: RepositoryCheck["state"], message: string): RepositoryCheck => ({
  url,
  state,
  ref: null,
  commit: null,
  message
})

const stateOf = ({ kind }: GitError): RepositoryCheck["state"] => {
  switch (kind) {
    case "not_found":
    case "ref_not_found":
    case "auth_required":
      return kind
    case "remote_refused":
    case "redirected":
      return "refused"
    default:
      return "unavailable"
  }
}
