import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { Effect } from "effect"
import { EventFeed } from "./EventFeed.js"
import { EventLog } from "./EventLog.js"
import { EventRetention } from "./EventRetention.js"
import { FollowerStore } from "./FollowerStore.js"
import { WorkspaceEvents } from "./WorkspaceEvents.js"
import { WorkspaceFeed } from "./WorkspaceFeed.js"

/** The logs of sessions and of workspaces. */
export const events = {
  name: "events",
  layer: oneByOne(EventFeed.layer, WorkspaceFeed.layer).pipe(
    onTopOf(oneByOne(EventLog.layer, EventRetention.layer, FollowerStore.layer, WorkspaceEvents.layer))
  ),
  sweeps: {
    events: Effect.map(Effect.all([WorkspaceEvents, EventRetention]), ([{ keepUp }, { purge }]) =>
      Effect.zipRight(keepUp, purge)
    )
  }
} as const
