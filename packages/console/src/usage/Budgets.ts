import type { Budget, BudgetInput } from "@reins/client"
import { reins } from "../api/Server.js"

/** The resources that can have a budget, by the prefixes of their ids. */
const resources = {
  turn: {
    name: "turn",
    get: async (turn_id: string) => (await reins.turns.get({ turn_id })).budget,
    set: (turn_id: string, budget: BudgetInput | null) => reins.turns.update({ turn_id, budget })
  },
  sess: {
    name: "session",
    get: async (session_id: string) => (await reins.sessions.get({ session_id })).budget,
    set: (session_id: string, budget: BudgetInput | null) => reins.sessions.update({ session_id, budget })
  },
  key: {
    name: "API key",
    get: async (key_id: string) => {
      for await (const key of reins.apiKeys.list({ limit: 100 })) if (key.id === key_id) return key.budget
      return null
    },
    set: (key_id: string, budget: BudgetInput | null) => reins.apiKeys.update({ key_id, budget })
  },
  wsp: {
    name: "workspace",
    get: async (workspace_id: string) => (await reins.workspaces.get({ workspace_id })).budget,
    set: (workspace_id: string, budget: BudgetInput | null) => reins.workspaces.update({ workspace_id, budget })
  }
} as const

const resourceOf = (id: string) => {
  const found = Object.entries(resources).find(([prefix]) => id.startsWith(`${prefix}_`))
  if (found === undefined) throw new Error(`${id} can have no budget.`)
  return found[1]
}

/** The word for the resource of an id. */
export const nameOf = (id: string): string => resourceOf(id).name

/** The budget of a resource; null for none. */
export const budgetOf = (id: string): Promise<Budget | null> => resourceOf(id).get(id)

/** Sets or raises the budget of a resource; null takes it away. */
export const setBudget = (id: string, budget: BudgetInput | null): Promise<unknown> => resourceOf(id).set(id, budget)

/** The limits of a form; undefined where both fields are empty. */
export const limitsOf = ({
  cost = "",
  tokens = ""
}: {
  readonly tokens?: string
  readonly cost?: string
}): BudgetInput | undefined =>
  tokens === "" && cost === ""
    ? undefined
    : { ...(tokens !== "" && { max_tokens: Number(tokens) }), ...(cost !== "" && { max_cost_usd: Number(cost) }) }
