import { signal } from "@preact/signals"
import type { Harness } from "@reins/client"
import { reins } from "../api/Server.js"
import { keep, readKept } from "../ui/Kept.js"

/** The facts of an agent that the pages show. */
interface Known {
  readonly name: string
  /** The names of what it can do. */
  readonly can: ReadonlyArray<string>
}

type Agents = Readonly<Record<string, Known>>

const kept = "reins.agents"

/** The names of the agents that Reins brings, until the server has said its own. */
const builtIn: Agents = {
  alpha: { name: "OpenCode", can: [] },
  beta: { name: "Codex", can: [] },
  claude: { name: "Claude Code", can: [] },
  opencode: { name: "OpenCode", can: [] }
}

const read = (): Agents => {
  try {
    // Boundary: this page wrote what is kept.
    return JSON.parse(readKept(kept) ?? "{}") as Agents
  } catch {
    return {}
  }
}

const agents = signal<Agents>({ ...builtIn, ...read() })

/** Keeps what a catalog says of its agents. */
export const learnAgents = (harnesses: ReadonlyArray<Harness>): void => {
  const known = Object.fromEntries(
    harnesses.map(({ capabilities, display_name, provider_id }) => {
      const can = Object.entries(capabilities).flatMap(([name, value]) => (value === "supported" ? [name] : []))
      return [provider_id, { name: display_name, can }]
    })
  )
  agents.value = { ...agents.peek(), ...known }
  keep(kept, JSON.stringify(known))
}

let isAsked = false

/** Asks the server for its agents, once for a page. A failure leaves those that are known. */
export const askAgents = (): void => {
  if (isAsked) return
  isAsked = true
  reins.catalog.listHarnesses({}).then(
    ({ items }) => learnAgents(items),
    () => undefined
  )
}

/** The name of the agent of a provider, as in `OpenCode`. */
export const agentName = (provider_id: string): string => agents.value[provider_id]?.name ?? provider_id

/** True where the agent was seen to do something, as `steer`. */
export const agentCan = (provider_id: string, capability: "steer" | "interrupt"): boolean =>
  agents.value[provider_id]?.can.includes(capability) ?? false
