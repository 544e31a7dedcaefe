import { oneByOne } from "@reins/base/base/Layered"
import { Outbound } from "./Outbound.js"
import { WayOut } from "./WayOut.js"

/** Guarded calls to other hosts, and the proxy through which git and agents connect. */
export const outbound = {
  name: "outbound",
  layer: oneByOne(Outbound.layer, WayOut.layer)
} as const
