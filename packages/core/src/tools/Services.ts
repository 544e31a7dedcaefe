import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import * as AskUser from "./AskUser.js"
import { CallLedger } from "./CallLedger.js"
import * as FunctionTools from "./FunctionTools.js"
import { ToolRuns } from "./ToolRuns.js"
import { ToolSources } from "./ToolSources.js"

/** The services of this room. */
export const layer = oneByOne(ToolRuns.layer, FunctionTools.layer, AskUser.layer).pipe(
  onTopOf(CallLedger.layer),
  onTopOf(ToolSources.layer)
)
