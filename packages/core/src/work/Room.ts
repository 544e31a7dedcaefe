import { oneByOne } from "@reins/base/base/Layered"
import * as operations from "./Operations.js"
import * as WorkRows from "./WorkRows.js"
import { Works } from "./Works.js"

/** Where the work of each session stands, and what is new to whom. */
export const work = {
  name: "work",
  layer: oneByOne(Works.layer, WorkRows.layer),
  operations
} as const
