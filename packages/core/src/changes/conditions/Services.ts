import { oneByOne } from "../../base/Layered.js"
import { Conditions } from "./Conditions.js"
import * as DecideByLook from "./DecideByLook.js"
import { Verdicts } from "./Verdicts.js"

/** The services of conditions and verdicts. */
export const layer = oneByOne(Conditions.layer, DecideByLook.layer, Verdicts.layer)
