import { Effect } from "effect"
import { ConnectionStore } from "../../connections/ConnectionStore.js"
import type { ProjectSpec } from "../../projects/Project.js"
import { projectEnvironment } from "../../projects/ProjectEnvironment.js"
import { limitsOf } from "../../sessions/creation/SessionBounds.js"
import type { SessionRow } from "../../sessions/rows/SessionRow.js"
import { connectionRefused, TurnRefused } from "./TurnRefused.js"

/** The settings that the project of a session has for its agent, and the limits that the session asks for. */
export const terms = Effect.gen(function* () {
  const environmentOf = yield* projectEnvironment

  return Effect.fnUntraced(function* (session: SessionRow, spec: ProjectSpec) {
    const { variables } = yield* Effect.mapError(
      environmentOf(session, spec, "agent"),
      ({ message }) => new TurnRefused({ reason: "credential_invalid", message, retryable: false })
    )
    const limits = limitsOf(session)
    return {
      ...(spec.network !== undefined && { network: spec.network }),
      environment: variables,
      ...(limits && { limits })
    }
  })
})

/** The open connection of a session, or the refusal of its turn. */
export const connections = Effect.map(
  ConnectionStore,
  (connections) => (session: SessionRow) =>
    session.connection_id === null
      ? Effect.succeed(null)
      : Effect.mapError(connections.open(session.workspace_id, session.connection_id), connectionRefused)
)
