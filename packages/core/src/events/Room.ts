import { Effect } from "effect"
import { EventRetention } from "./EventRetention.js"
import { WorkspaceEvents } from "./WorkspaceEvents.js"

/** The logs of sessions and of workspaces. */
export const events = {
  name: "events",
  sweeps: {
    events: Effect.map(Effect.all([WorkspaceEvents, EventRetention]), ([{ keepUp }, { purge }]) =>
      Effect.zipRight(keepUp, purge)
    )
  }
} as const
