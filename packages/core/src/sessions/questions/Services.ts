import { oneByOne } from "../../base/Layered.js"
import { InteractionStore } from "./InteractionStore.js"
import { ToolCallStore } from "./ToolCallStore.js"

/** What agents ask, and the functions that they call. */
export const layer = oneByOne(InteractionStore.layer, ToolCallStore.layer)
