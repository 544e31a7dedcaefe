import { oneByOne } from "@reins/base/base/Layered"
import { Conditions } from "./Conditions.js"
import * as DecideByLook from "./DecideByLook.js"
import { Verdicts } from "./Verdicts.js"

/** The services of conditions and verdicts. */
export const layer = oneByOne(Conditions.layer, DecideByLook.layer, Verdicts.layer)
