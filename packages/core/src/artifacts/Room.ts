import { onTopOf } from "@reins/base/base/Layered"
import { Artifacts } from "./Artifacts.js"
import * as operations from "./Operations.js"
import * as PublishTool from "./PublishTool.js"

/** Files that agents keep for people. */
export const artifacts = {
  name: "artifacts",
  layer: PublishTool.layer.pipe(onTopOf(Artifacts.layer)),
  operations,
  tables: ["artifacts"]
} as const
