import { oneByOne } from "@reins/base/base/Layered"
import * as operations from "./Operations.js"
import { SharedSessions } from "./SharedSessions.js"
import { Shares } from "./Shares.js"

/** Links with which anybody may read a session. */
export const shares = {
  name: "shares",
  layer: oneByOne(Shares.layer, SharedSessions.layer),
  operations,
  tables: ["session_shares"]
} as const
