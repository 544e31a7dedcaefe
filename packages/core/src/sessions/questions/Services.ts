import { oneByOne } from "@reins/base/base/Layered"
import { InteractionStore } from "./InteractionStore.js"
import { ToolCallStore } from "./ToolCallStore.js"

/** The questions of agents, and their calls of functions. */
export const layer = oneByOne(InteractionStore.layer, ToolCallStore.layer)
