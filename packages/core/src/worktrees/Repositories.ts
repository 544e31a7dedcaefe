import { fn } from "@reins/base/base/Traced"
import { WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound } from "@reins/base/domain/ReinsError"
import { originOf, repositoryPlace } from "@reins/base/domain/RepositoryUrl"
import { Forges } from "@reins/machine/forge/Forges"
import type { GitError } from "@reins/machine/repository/run/GitError"
import { Context, Duration, Effect, Either, Layer } from "effect"
import { Access, type Denied } from "../access/Access.js"
import { RepositoryConnections } from "../catalog/RepositoryConnections.js"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import { isAccessRefusal, type RepositoryAnswer, repositoryAsking } from "./RepositoryAsking.js"
import type { RepositoryCheck, RepositoryQuery } from "./RepositoryCheck.js"

/** The time that a person waits for the answer of a remote. */
const patience = Duration.seconds(20)

/** The repositories that sessions could start from. */
export class Repositories extends Context.Tag("@reins/core/worktrees/Repositories")<
  Repositories,
  {
    /**
     * Asks the remote as a clone would. It takes the named connection, or the one that a session would take, or no credential. A refusal of the remote
     * is an answer and no failure. Only members who could make a session may ask, because the service sends a request.
     * Fails with `not_found` for a connection of another workspace.
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
      const connections = yield* ConnectionStore
      const asking = yield* repositoryAsking
      const { ranked } = yield* RepositoryConnections
      const helpOf = yield* accessHelp

      const ask = Effect.fnUntraced(function* (
        workspaceId: WorkspaceId,
        { anonymous, connection_id, ref, url }: RepositoryQuery
      ) {
        const asked = { workspaceId, url, ref: ref ?? null }
        if (connection_id !== undefined) return yield* asking.named(asked, connection_id)
        return anonymous === true
          ? yield* asking.anonymous(asked)
          : yield* asking.first(asked, yield* ranked(workspaceId, url))
      })

      return Repositories.of({
        check: fn("Repositories.check")(function* (principal, workspaceId, query) {
          yield* access.write(principal, workspaceId)
          const { connection_id, url } = query
          const named = connection_id === undefined ? undefined : yield* connections.find(connection_id)
          if (connection_id !== undefined && named?.workspace_id !== workspaceId) return yield* notFound()
          const answer = yield* Effect.timeoutOption(ask(WorkspaceId.make(workspaceId), query), patience)
          if (answer._tag === "None") return { ...nothing(url), state: "unavailable", message: late }
          const check = checkOf(url, answer.value)
          return { ...check, ...(isWanting(answer.value) && (yield* helpOf(url))) }
        })
      })
    })
  )
}

const late = "The remote did not answer in time."

const nothing = (url: string) => ({
  ...{ url, ref: null, commit: null, message: null, connection_id: null },
  ...{ host: null, forge: null, ways: [] }
})

const checkOf = (url: string, { answer, connectionId }: RepositoryAnswer): RepositoryCheck => {
  const known = { ...nothing(url), connection_id: connectionId }
  if (Either.isLeft(answer)) return { ...known, state: stateOf(answer.left), message: answer.left.message }
  const { commit, ref } = answer.right
  return { ...known, state: "found", ref, commit }
}

/** True when another credential may open the repository. Many forges say of a closed one that there is none. */
const isWanting = ({ answer, connectionId }: RepositoryAnswer): boolean =>
  Either.isLeft(answer) &&
  (answer.left.kind === "auth_required" || (connectionId !== null && isAccessRefusal(answer.left)))

/** Gives the function that tells where a credential for a repository comes from. */
const accessHelp = Effect.gen(function* () {
  const forges = yield* Forges

  return Effect.fnUntraced(function* (url: string) {
    const place = repositoryPlace(url)
    if (place === undefined || place.kind === "path") return {}
    const origin = originOf(place) ?? ""
    const forge = yield* forges.at(origin)
    if (place.kind === "ssh") return { host: hostOf(origin), forge: forge?.kind ?? null, ways: ["ssh_key" as const] }
    const { host } = place.url
    const ways = forge?.appKind === undefined ? (["token"] as const) : (["app", "token"] as const)
    return { host, forge: forge?.kind ?? null, ways }
  })
})

/** The host and the port in an origin. */
const hostOf = (origin: string): string => origin.replace("ssh://", "")

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
