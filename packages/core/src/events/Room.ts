import { Effect } from "effect"
import { operationErrors } from "./Errors.js"
import { EventRetention } from "./EventRetention.js"
import { WorkspaceEvents } from "./WorkspaceEvents.js"

/** The logs of sessions and of workspaces. */
export const events = {
  name: "events",
  errors: operationErrors,
  sweeps: {
    events: Effect.map(Effect.all([WorkspaceEvents, EventRetention]), ([{ keepUp }, { purge }]) =>
      Effect.zipRight(keepUp, purge)
    )
  }
} as const
