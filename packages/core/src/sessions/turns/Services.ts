import { onTopOf } from "@reins/base/base/Layered"
import { Quotas } from "../rows/Quotas.js"
import { Steering } from "./Steering.js"
import { TurnStore } from "./TurnStore.js"

/** The services of turns. */
export const layer = Steering.layer.pipe(onTopOf(Quotas.layer), onTopOf(TurnStore.layer))
