import { readFileSync } from "node:fs"
import type { Automation, FilterPreview } from "@reins/client"
import { argument, flag, option } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { harmless } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import { remoteCommand } from "./Remote.js"

/** `reins automations try` */
export const tryFilter = remoteCommand({
  takes: {
    automation: argument("automation", "The id of an automation"),
    receipt: option("receipt", "A delivery that its hook got", { value: "id" }),
    sample: option("sample", "A file with the body of a call, or with an event", { value: "file" }),
    event: option("event", "The event of the sample, as its forge names it", { value: "name" }),
    json: flag("json", "JSON in the place of text")
  },
  details: "Begins nothing. A delivery that came needs a key with the scope admin.",
  examples: [
    ["reins automations try aut_01h… --receipt hrc_01h…", "Would this delivery begin a run?"],
    ["reins automations try aut_01h… --sample push.json --event push", "The same for a body of your own"]
  ],
  run: async ({ automation: automation_id, event, json, receipt, sample }, connect) => {
    if ((receipt === undefined) === (sample === undefined))
      throw new CommandFailed({ message: "Name a delivery with --receipt hrc_01h…, or a file with --sample." })
    const tried =
      receipt === undefined
        ? { body: sampleIn(sample ?? ""), ...(event !== undefined && { event }) }
        : { receipt_id: receipt }
    const { reins } = await connect()
    const automation = await reins.automations.get({ automation_id })
    const { workspace_id } = automation
    const preview = await reins.automations.previewFilter({ workspace_id, ...wantsOf(automation), ...tried })
    if (json) return printJsonNow(preview)
    show(preview)
  }
})

/** The part of a call that an automation looks at. */
const wantsOf = ({ deliver, trigger }: Automation) => {
  if (trigger.kind !== "hook" && trigger.kind !== "event")
    throw new CommandFailed({
      message: "The clock begins this automation. `reins automations preview` shows its times."
    })
  const { filter, pick } = trigger
  const closes = deliver?.merge_request?.closes
  return {
    ...(trigger.kind === "hook" && trigger.events != null && { events: trigger.events }),
    ...(filter != null && { filter }),
    ...(pick != null && { pick }),
    ...(closes != null && { closes })
  }
}

const sampleIn = (file: string): unknown => {
  try {
    return JSON.parse(readFileSync(file, "utf8"))
  } catch (error) {
    const why = error instanceof SyntaxError ? "is no JSON" : "cannot be read"
    throw new CommandFailed({ message: `${file} ${why}.` })
  }
}

const show = ({ closes, conditions, data, event, event_matches, matches }: FilterPreview): void => {
  tell(matches ? "It would begin a run." : "It would begin nothing.")
  const yes = (is: boolean) => (is ? "yes" : "no")
  const rows = [
    ...(event_matches ? [] : [[`event ${harmless(event ?? "-")}`, "no", ""]]),
    ...conditions.map(({ found, holds, pointer }) => [harmless(pointer), yes(holds), harmless(found ?? "nothing")])
  ]
  if (rows.length > 0) process.stdout.write(table([["CONDITION", "HOLDS", "FOUND"], ...rows]))
  if (closes !== null) tell(`Its merge request closes issue ${closes}.`)
  tell(data === null ? "The agent gets no data." : "The agent gets this as data:")
  if (data !== null) process.stdout.write(`${harmless(data)}\n`)
}
