import { signal } from "@preact/signals"
import type { Harness } from "@reins/client"
import { reins } from "../api/Server.js"
import { keep, readKept } from "../ui/Kept.js"

const kept = "reins.agents"

type Names = Readonly<Record<string, string>>

/** The names of the agents that Reins brings, until the server has said its own. */
const builtIn: Names = { alpha: "OpenCode", beta: "Codex", claude: "Claude Code", opencode: "OpenCode" }

const read = (): Names => {
  try {
    const names: unknown = JSON.parse(readKept(kept) ?? "{}")
    return typeof names === "object" && names !== null ? (names as Names) : {}
  } catch {
    return {}
  }
}

const names = signal<Names>({ ...builtIn, ...read() })

type Named = Pick<Harness, "provider_id" | "display_name">

/** Keeps the names of a catalog that was read. */
export const learnNames = (harnesses: ReadonlyArray<Named>): void => {
  const known = Object.fromEntries(harnesses.map(({ display_name, provider_id }) => [provider_id, display_name]))
  names.value = { ...names.peek(), ...known }
  keep(kept, JSON.stringify(known))
}

let asked: Promise<void> | undefined

/** Asks the server for the names, once for a page. A failure leaves those that are known. */
export const askNames = (): void => {
  asked ??= reins.catalog.listHarnesses({}).then(
    ({ items }) => learnNames(items),
    () => undefined
  )
}

/** The name of the agent of a provider, as in `OpenCode`. */
export const agentName = (provider_id: string): string => names.value[provider_id] ?? provider_id

/** The label of an agent in a list: its name, and its id where another one of the list has the same name. */
export const agentLabel = ({ display_name, provider_id }: Named, all: ReadonlyArray<Named>): string =>
  all.some((other) => other.provider_id !== provider_id && other.display_name === display_name)
    ? `${display_name} (${provider_id})`
    : display_name
