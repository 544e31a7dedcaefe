import { Context, Effect, Layer, type Redacted } from "effect"
import { Outbound } from "../outbound/Outbound.js"
import { type Forge, ForgeError } from "./Forge.js"
import { forgeHost, isForgeKind, repositoryOn } from "./ForgeHost.js"
import * as Gitea from "./Gitea.js"
import * as GitHub from "./GitHub.js"
import * as GitLab from "./GitLab.js"

const makers = { github: GitHub.make, gitlab: GitLab.make, gitea: Gitea.make } as const

/** An opened connection to a forge. */
export interface ForgeCredential {
  readonly kind: string
  readonly settings: Readonly<Record<string, string>>
  readonly secrets: Readonly<Record<string, Redacted.Redacted>>
}

/** The forges that connections lead to. A token is never sent to another host than its connection's own. */
export class Forges extends Context.Tag("@reins/core/forge/Forges")<
  Forges,
  {
    /**
     * The repository on the forge of a connection. Fails with `unauthenticated` when the connection is not one to a forge, and with
     * `rejected` when the repository is not on that forge.
     */
    readonly open: (credential: ForgeCredential, repositoryUrl: string) => Effect.Effect<Forge, ForgeError>
  }
>() {
  static readonly layer = Layer.effect(
    Forges,
    Effect.map(Outbound, (outbound) =>
      Forges.of({
        open: Effect.fnUntraced(function* ({ kind, secrets, settings }, repositoryUrl) {
          const token = secrets["token"]
          if (!isForgeKind(kind) || token === undefined) {
            return yield* new ForgeError({ kind: "unauthenticated", message: "The connection is not one to a forge." })
          }
          const host = forgeHost(kind, settings["base_url"])
          const repository = repositoryOn(host, repositoryUrl)
          if (repository === undefined) {
            return yield* new ForgeError({
              kind: "rejected",
              message: `The repository is not on ${host.web.host}, where the connection leads: use a connection to its forge.`
            })
          }
          return makers[kind]({ outbound, api: host.api, token }, repository)
        })
      })
    )
  )
}
