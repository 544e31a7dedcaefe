import { Context, Effect, Layer } from "effect"
import { Connections } from "../connections/Connections.js"
import { Outbound } from "../connections/Outbound.js"
import type { ConnectionId, CredentialId, WorkspaceId } from "../domain/Ids.js"
import { fn } from "../Traced.js"
import { type Forge, ForgeError } from "./Forge.js"
import { forgeHost, isForgeKind, repositoryOn } from "./ForgeHost.js"
import * as Gitea from "./Gitea.js"
import * as GitHub from "./GitHub.js"
import * as GitLab from "./GitLab.js"

const makers = { github: GitHub.make, gitlab: GitLab.make, gitea: Gitea.make } as const

/** The forges that connections lead to. A token is never sent to another host than its connection's own. */
export class Forges extends Context.Tag("@reins/core/forge/Forges")<
  Forges,
  {
    /**
     * The repository on the forge of a connection, asked with the named version of its credential. Fails with `unauthenticated` when the connection cannot be used, and with
     * `rejected` when the repository is not on that forge.
     */
    readonly open: (
      workspaceId: WorkspaceId,
      connectionId: ConnectionId,
      repositoryUrl: string
    ) => Effect.Effect<{ readonly forge: Forge; readonly credentialId: CredentialId }, ForgeError>
  }
>() {
  static readonly layer = Layer.effect(
    Forges,
    Effect.gen(function* () {
      const connections = yield* Connections
      const outbound = yield* Outbound
      return Forges.of({
        open: fn("Forges.open")(function* (workspaceId, connectionId, repositoryUrl) {
          const connection = yield* connections
            .open(workspaceId, connectionId)
            .pipe(Effect.mapError((error) => new ForgeError({ kind: "unauthenticated", message: error.message })))
          const token = connection.secrets["token"]
          if (!isForgeKind(connection.kind) || token === undefined) {
            return yield* new ForgeError({ kind: "unauthenticated", message: "The connection is not one to a forge." })
          }
          const host = forgeHost(connection.kind, connection.settings["base_url"])
          const repository = repositoryOn(host, repositoryUrl)
          if (repository === undefined) {
            return yield* new ForgeError({
              kind: "rejected",
              message: `The repository is not on ${host.web.host}, where the connection leads: use a connection to its forge.`
            })
          }
          return {
            forge: makers[connection.kind]({ outbound, api: host.api, token }, repository),
            credentialId: connection.credentialId
          }
        })
      })
    })
  )
}
