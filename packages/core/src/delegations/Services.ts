import { oneByOne, onTopOf } from "../base/Layered.js"
import { DelegationResults } from "./DelegationResults.js"
import { DelegationStore } from "./DelegationStore.js"
import { Delegations } from "./Delegations.js"
import * as DelegationTurns from "./DelegationTurns.js"
import { ResultSchemas } from "./ResultSchemas.js"
import { ResultStore } from "./ResultStore.js"
import { WaitStore } from "./WaitStore.js"
import { Waits } from "./Waits.js"

/** The services of this room. */
export const layer = DelegationTurns.layer.pipe(
  onTopOf(oneByOne(Delegations.layer, DelegationResults.layer, Waits.layer)),
  onTopOf(oneByOne(ResultStore.layer, ResultSchemas.layer)),
  onTopOf(DelegationStore.layer),
  onTopOf(WaitStore.layer)
)
