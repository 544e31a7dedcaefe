import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { HarnessSwitches } from "./HarnessSwitches.js"
import { NativeStateExport } from "./NativeStateExport.js"
import { SessionExecutors } from "./SessionExecutors.js"
import { TurnSetup } from "./TurnSetup.js"

/** The services of this room. */
export const layer = oneByOne(SessionExecutors.layer, HarnessSwitches.layer, NativeStateExport.layer).pipe(
  onTopOf(TurnSetup.layer)
)
