import { Context, Effect, Layer, type Scope } from "effect"
import type { NetworkAccess } from "../domain/NetworkAccess.js"
import { destinationsOf } from "../outbound/NetworkRules.js"
import { type Passage, WayOut } from "../outbound/WayOut.js"
import { Projects } from "../projects/Projects.js"
import type { SessionRow } from "../sessions/SessionStore.js"

/** The network of agents, as the projects of their sessions allow it. */
export class AgentNetwork extends Context.Tag("@reins/core/execution/AgentNetwork")<
  AgentNetwork,
  {
    /** What the project version of a session allows; undefined where it says nothing. */
    readonly accessOf: (
      session: Pick<SessionRow, "workspace_id" | "project_version_id">
    ) => Effect.Effect<NetworkAccess | undefined>
    /** The proxy for an agent until the scope closes; undefined for one that may connect to nothing but its model. */
    readonly open: (access: NetworkAccess | undefined) => Effect.Effect<Passage | undefined, never, Scope.Scope>
  }
>() {
  static readonly layer = Layer.effect(
    AgentNetwork,
    Effect.gen(function* () {
      const projects = yield* Projects
      const wayOut = yield* WayOut
      return AgentNetwork.of({
        accessOf: Effect.fnUntraced(function* ({ project_version_id, workspace_id }) {
          if (project_version_id === null) return undefined
          const version = yield* Effect.orDie(projects.resolve(workspace_id, { versionId: project_version_id }))
          return version.spec.network
        }),
        open: Effect.fnUntraced(function* (access) {
          const destinations = access === undefined ? undefined : destinationsOf(access)
          return destinations === undefined ? undefined : yield* wayOut.open(destinations)
        })
      })
    })
  )
}
