import type { WayOut } from "../../outbound/WayOut.js"
import type { GitOptionsShape } from "./GitOptions.js"

/** The options of git, and the way by which it reaches remotes. */
export interface GitMeans extends GitOptionsShape {
  readonly wayOut: WayOut["Type"]
}
