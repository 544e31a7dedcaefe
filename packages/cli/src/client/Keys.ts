import type { ApiKey } from "@reins/client"
import { argument, entry, flag, group } from "../Command.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import { withBudgets } from "./Budgets.js"
import { remoteCommand } from "./Remote.js"

const list = remoteCommand({
  takes: { json: flag("json", "A line of JSON for each key") },
  details: "Needs a key with the scope admin.",
  examples: [
    ["reins keys list", "The keys of your account, with their last use"],
    ["reins keys list --json | jq -r .id", "Their ids alone"]
  ],
  run: async ({ json }, connect) => {
    const { reins } = await connect()
    const keys: Array<ApiKey> = []
    for (let cursor: string | undefined; ; ) {
      const page = await reins.apiKeys.list({ limit: 100, ...(cursor !== undefined && { cursor }) })
      keys.push(...page.items)
      if (page.next_cursor === null) break
      cursor = page.next_cursor
    }
    if (json) return keys.forEach(printJsonNow)
    const rows = keys.map((key) => ({ cells: rowOf(key), budget: key.budget }))
    process.stdout.write(table(withBudgets(rows, ["KEY", "NAME", "SCOPES", "ENDS WITH", "LAST USED", "STATE"])))
  }
})

const rowOf = ({ expires_at, id, last4, last_used_at, name, revoked_at, scopes }: ApiKey): ReadonlyArray<string> => [
  id,
  harmless(name),
  scopes.join(","),
  last4,
  last_used_at?.slice(0, 16).replace("T", " ") ?? "never",
  revoked_at !== null ? "revoked" : expires_at !== null && new Date(expires_at) < new Date() ? "expired" : "active"
]

const revoke = remoteCommand({
  takes: { key: argument("key", "The id of a key") },
  examples: [
    ["reins keys revoke key_01h…", "Make a key useless at once"],
    ["reins keys list", "See first which one it is"]
  ],
  run: async ({ key }, connect) => {
    const { reins } = await connect()
    const { auth } = await reins.accounts.getMe()
    const { name } = await reins.apiKeys.revoke({ key_id: key })
    tell(`The key "${harmless(name)}" (${key}) is good for nothing any more.`)
    if (auth.key_id === key) tell("It was the one that you called with. Run `reins init` for another.")
  }
})

export const keys = group(
  entry("list", "List the API keys of your account", list),
  entry("revoke", "Revoke an API key", revoke)
)
