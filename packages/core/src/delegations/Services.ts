import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import * as AgentTools from "./AgentTools.js"
import { DelegationResults } from "./DelegationResults.js"
import { DelegationStore } from "./DelegationStore.js"
import { Delegations } from "./Delegations.js"
import * as DelegationTurns from "./DelegationTurns.js"
import { ResultStore } from "./ResultStore.js"
import * as ResultTool from "./ResultTool.js"
import { WaitStore } from "./WaitStore.js"
import { Waits } from "./Waits.js"

/** The services of this room. */
export const layer = oneByOne(DelegationTurns.layer, AgentTools.layer, ResultTool.layer).pipe(
  onTopOf(oneByOne(Delegations.layer, DelegationResults.layer, Waits.layer)),
  onTopOf(ResultStore.layer),
  onTopOf(DelegationStore.layer),
  onTopOf(WaitStore.layer)
)
