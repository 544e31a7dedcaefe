import { AgentPool } from "./AgentPool.js"

/** The agents of leases as processes. */
export const agents = {
  name: "agents",
  layer: AgentPool.layer
} as const
