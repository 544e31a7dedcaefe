import { oneByOne } from "../base/Layered.js"
import { shareEvents } from "./Events.js"
import { SharedSessions } from "./SharedSessions.js"
import { Shares } from "./Shares.js"

/** Links with which anybody may read a session. */
export const shares = {
  name: "shares",
  layer: oneByOne(Shares.layer, SharedSessions.layer),
  tables: ["session_shares"],
  events: shareEvents
} as const
