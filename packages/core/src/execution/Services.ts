import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { HarnessSwitches } from "./executor/HarnessSwitches.js"
import { NativeStateExport } from "./executor/NativeStateExport.js"
import { SessionExecutors } from "./executor/SessionExecutors.js"
import { TurnSetup } from "./setup/TurnSetup.js"

/** The services of this room. */
export const layer = oneByOne(SessionExecutors.layer, HarnessSwitches.layer, NativeStateExport.layer).pipe(
  onTopOf(TurnSetup.layer)
)
