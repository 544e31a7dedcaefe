import { onTopOf } from "../base/Layered.js"
import { CallLedger } from "./CallLedger.js"
import { ToolRuns } from "./ToolRuns.js"
import { ToolSources } from "./ToolSources.js"

/** The services of this room. */
export const layer = ToolRuns.layer.pipe(onTopOf(CallLedger.layer), onTopOf(ToolSources.layer))
