import { cutText } from "@reins/base/base/CutText"
import { argument, entry, flag, group } from "../Command.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import { remoteCommand } from "./Remote.js"
import { sessionArgument, sessionNamed } from "./Resolve.js"

const json = flag("json", "Lines of JSON in the place of text")
const delegation = argument("delegation", "The id of a delegation")

const list = remoteCommand({
  takes: { session: sessionArgument, json },
  examples: [
    ["reins delegations list sess_01h…", "The sessions that work for a session"],
    ["reins delegations list sess_01h… --json", "The same for a program"]
  ],
  run: async ({ json, session }, connect) => {
    const remote = await connect()
    const session_id = await sessionNamed(remote, session)
    const items = await remote.reins.sessions.listDelegations({ session_id, limit: 100 }).all()
    if (json) return items.forEach(printJsonNow)
    if (items.length === 0) return tell("This session has delegated nothing.")
    const rows = items.map(({ child_session_id, id, instructions, role, state }) => [
      id,
      child_session_id,
      state.replaceAll("_", " "),
      harmless(role),
      cutText(harmless(instructions).replaceAll(/\s+/g, " "), 60)
    ])
    process.stdout.write(table([["DELEGATION", "SESSION", "STATE", "ROLE", "INSTRUCTIONS"], ...rows]))
  }
})

const result = remoteCommand({
  takes: { delegation },
  examples: [
    ["reins delegations result del_01h…", "Print the result as JSON"],
    ["reins delegations result del_01h… | jq .", "Print it in colours"]
  ],
  run: async ({ delegation }, connect) => {
    const { reins } = await connect()
    printJsonNow(await reins.delegations.getResult({ delegation_id: delegation }))
  }
})

const cancel = remoteCommand({
  takes: { delegation },
  examples: [
    ["reins delegations cancel del_01h…", "Stop a delegation"],
    ["reins delegations list sess_01h…", "See first which one it is"]
  ],
  run: async ({ delegation }, connect) => {
    const { reins } = await connect()
    await reins.delegations.cancel({ delegation_id: delegation })
    tell("The delegation is cancelled.")
  }
})

/** `reins delegations` */
export const delegations = group(
  entry("list", "List the sessions that work for a session", list),
  entry("result", "Print the result of a delegation", result),
  entry("cancel", "Cancel a delegation", cancel)
)
