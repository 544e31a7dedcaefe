import { Context, Effect, Layer } from "effect"
import type { NetworkAccess } from "../domain/NetworkAccess.js"
import { Projects } from "../projects/Projects.js"
import type { SessionRow } from "../sessions/SessionStore.js"

/** The network of agents, as the projects of their sessions allow it. */
export class AgentNetwork extends Context.Tag("@reins/core/execution/AgentNetwork")<
  AgentNetwork,
  {
    /** The hosts that the project version of a session allows; undefined where it says nothing. */
    readonly accessOf: (
      session: Pick<SessionRow, "workspace_id" | "project_version_id">
    ) => Effect.Effect<NetworkAccess | undefined>
  }
>() {
  static readonly layer = Layer.effect(
    AgentNetwork,
    Effect.gen(function* () {
      const projects = yield* Projects
      return AgentNetwork.of({
        accessOf: Effect.fnUntraced(function* ({ project_version_id, workspace_id }) {
          if (project_version_id === null) return undefined
          const version = yield* Effect.orDie(projects.resolve(workspace_id, { versionId: project_version_id }))
          return version.spec.network
        })
      })
    })
  )
}
