import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import * as operations from "./Operations.js"
import { ServerChecks } from "./ServerChecks.js"
import { ServerLinks } from "./ServerLinks.js"
import { ServerLooks } from "./ServerLooks.js"
import * as ServerTools from "./ServerTools.js"
import * as ServerUses from "./ServerUses.js"

/** The servers of the Model Context Protocol that projects name. */
export const mcp = {
  name: "mcp",
  layer: oneByOne(ServerTools.layer, ServerChecks.layer, ServerUses.layer).pipe(
    onTopOf(ServerLooks.layer),
    onTopOf(ServerLinks.layer)
  ),
  operations
} as const
