import { oneByOne } from "../../base/Layered.js"
import { InteractionStore } from "./InteractionStore.js"
import { ToolCallStore } from "./ToolCallStore.js"

/** The questions of agents, and their calls of functions. */
export const layer = oneByOne(InteractionStore.layer, ToolCallStore.layer)
