import type { WorkspaceUsage } from "@reins/client"
import { choice, flag, option } from "../Command.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import { remoteCommand, workspaceOption } from "./Remote.js"
import { optionalSession, sessionNamed } from "./Resolve.js"
import { timeOf } from "./WebhookDeliveries.js"

type Sum = WorkspaceUsage["total"]

const count = (tokens: number | null): string => (tokens === null ? "-" : tokens.toLocaleString("en-US"))

/** A cost by list prices stands apart, because a connection can cost something else. */
const costIn = ({ cost_usd, list_cost_usd }: Pick<Sum, "cost_usd" | "list_cost_usd">): string => {
  const parts = [
    ...(cost_usd === null ? [] : [`$${cost_usd.toFixed(2)}`]),
    ...(list_cost_usd === null ? [] : [`$${list_cost_usd.toFixed(2)} (list price)`])
  ]
  return parts.length === 0 ? "unknown" : parts.join(" + ")
}

const cellsOf = (sum: Pick<Sum, "cost_usd" | "list_cost_usd" | "input_tokens" | "output_tokens" | "turns">) => [
  String(sum.turns),
  count(sum.input_tokens),
  count(sum.output_tokens),
  costIn(sum)
]

const head = ["TURNS", "READ", "WRITTEN", "COST"]

/** `reins usage` */
export const usage = remoteCommand({
  takes: {
    session: optionalSession("Only what one session has used"),
    by: choice("by", ["day", "model", "session", "api_key"], "A line for each of these (day)"),
    since: option("since", "From then on: 2026-11-23, or 12h or 30d ago", { value: "time" }),
    until: option("until", "Before then, in the same forms (now)", { value: "time" }),
    json: flag("json", "Lines of JSON in the place of text"),
    workspace: workspaceOption
  },
  details:
    "Tokens and cost of turns that have ended. Without a price of the connection it counts the list price of the model, if Reins knows one, and says so.",
  examples: [
    ["reins usage --since 30d", "What each of the last thirty days has cost"],
    ["reins usage --by model", "What each model has cost"]
  ],
  run: async ({ by = "day", json, session, since, until, workspace }, connect) => {
    const remote = await connect(workspace)
    const { reins, workspaceId: workspace_id } = remote
    if (session !== undefined) {
      const session_id = await sessionNamed(remote, session)
      const { by_model, total, ...rest } = await reins.sessions.getUsage({ session_id })
      if (json) return printJsonNow({ ...rest, total, by_model })
      const rows = by_model.map((each) => [harmless(each.model ?? "-"), ...cellsOf(each)])
      return void process.stdout.write(table([["MODEL", ...head], ...rows, ["Total", ...cellsOf(total)]]))
    }
    const range = {
      ...(since !== undefined && { from: timeOf(since) }),
      ...(until !== undefined && { to: timeOf(until) })
    }
    const groups: Array<WorkspaceUsage["groups"][number]> = []
    for (let cursor: string | undefined; ; ) {
      const page = await reins.workspaces.getUsage({
        workspace_id,
        group_by: by,
        limit: 100,
        ...range,
        ...(cursor !== undefined && { cursor })
      })
      groups.push(...page.groups)
      if (page.next_cursor !== null) {
        cursor = page.next_cursor
        continue
      }
      if (json) return groups.forEach(printJsonNow)
      if (groups.length === 0) return tell("No turn has ended in this time.")
      const rows = groups.map((each) => [
        harmless(String(each.day ?? each.session_id ?? each.model ?? each.api_key_id ?? "-")),
        ...cellsOf(each)
      ])
      return void process.stdout.write(
        table([[by.replace("_", " ").toUpperCase(), ...head], ...rows, ["Total", ...cellsOf(page.total)]])
      )
    }
  }
})
