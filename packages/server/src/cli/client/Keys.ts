import { Args, Command, Options } from "@effect/cli"
import type { ApiKey } from "@reins/client"
import { createKey } from "../operator/Accounts.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless, table } from "../terminal/Style.js"
import { withBudgets } from "./Budgets.js"
import { attempt, connect } from "./Remote.js"

const list = Command.make(
  "list",
  { json: Options.boolean("json").pipe(Options.withDescription("A line of JSON for each key")) },
  ({ json }) =>
    attempt(async () => {
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
    })
).pipe(Command.withDescription("List the API keys of your account; needs a key with the scope admin"))

const rowOf = ({ expires_at, id, last4, last_used_at, name, revoked_at, scopes }: ApiKey): ReadonlyArray<string> => [
  id,
  harmless(name),
  scopes.join(","),
  last4,
  last_used_at?.slice(0, 16).replace("T", " ") ?? "never",
  revoked_at !== null ? "revoked" : expires_at !== null && new Date(expires_at) < new Date() ? "expired" : "active"
]

const revoke = Command.make(
  "revoke",
  { key: Args.text({ name: "key" }).pipe(Args.withDescription("The id of a key")) },
  ({ key }) =>
    attempt(async () => {
      const { reins } = await connect()
      const { auth } = await reins.accounts.getMe()
      const { name } = await reins.apiKeys.revoke({ key_id: key })
      tell(`The key "${harmless(name)}" (${key}) is good for nothing any more.`)
      if (auth.key_id === key) tell("It was the one that you called with. Run `reins init` for another.")
    })
).pipe(Command.withDescription("Revoke an API key"))

export const keys = Command.make("keys").pipe(
  Command.withDescription("API keys"),
  Command.withSubcommands([createKey, list, revoke])
)
