import * as operations from "./Operations.js"
import { layer } from "./Services.js"

/** The tools of the service that agents call, and the record of their calls. */
export const tools = {
  name: "tools",
  layer,
  operations,
  tables: ["tool_calls"]
} as const
