import { shortened } from "@reins/base/base/CutText"
import {
  type Automation,
  type MergeRequest,
  type Reins,
  ReinsApiError,
  type WorkItem,
  waitingSentence,
  workSentence
} from "@reins/client"
import { flag } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow } from "../terminal/Output.js"
import { painter } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import { exitCodes, remoteCommand, workspaceOption } from "./Remote.js"
import { shortIdIn } from "./Resolve.js"

/** The most sessions of a part that are shown. The counts are those of all. */
const mostShown = 50
const mostOfTitle = 60

const bold = (text: string): string => painter(process.stdout)("bold", text)

/** `reins status` */
export const status = remoteCommand({
  takes: {
    json: flag("json", "A line of JSON in the place of text"),
    exitCode: flag("exit-code", "Exit with 6 while something waits for you"),
    workspace: workspaceOption
  },
  details:
    "Open merge requests and automations that are paused are told too. Ids are short, and every command takes them.",
  examples: [
    ["reins status", "What waits for you, and what works"],
    ["reins status --exit-code || notify-send 'An agent waits'", "Tell when something waits"],
    ["reins status --json | jq '.waiting[].session_id'", "The sessions that wait, for a program"]
  ],
  run: async ({ exitCode, json, workspace }, connect) => {
    const { reins, workspaceId: workspace_id } = await connect(workspace)
    const [waiting, working, requests, automations] = await Promise.all([
      work(reins, { workspace_id, view: "waiting" }),
      work(reins, { workspace_id, view: "working" }),
      reins.mergeRequests.list({ workspace_id, state: "open", limit: 200 }).all(),
      reins.automations.list({ workspace_id, limit: 200 }).all()
    ])
    if (json)
      printJsonNow({
        counts: waiting.counts,
        waiting: waiting.items,
        working: working.items,
        merge_requests: requests,
        automations
      })
    else {
      const all = [...waiting.items, ...working.items, ...requests].map(({ session_id }) => session_id)
      part("Waits for you", waiting.counts.waiting, rowsOf(waiting.items, all))
      part("Agents work", waiting.counts.working, rowsOf(working.items, all))
      part("Open merge requests", requests.length, requests.slice(0, mostShown).map(requestRow(all)))
      process.stdout.write(automationLines(automations))
    }
    if (exitCode && waiting.counts.waiting > 0) process.exitCode = exitCodes.somethingWaits
  }
})

const work = async (reins: Reins, query: { readonly workspace_id: string; readonly view: "waiting" | "working" }) => {
  try {
    return await reins.workspaces.listWork({ ...query, limit: 200 })
  } catch (error) {
    // The workspace is there, so the operation is not.
    if (!(error instanceof ReinsApiError) || error.status !== 404) throw error
    throw new CommandFailed({
      message: "This server does not tell what waits; a newer release does. See: reins sessions list, reins requests"
    })
  }
}

type Row = ReadonlyArray<string>

const part = (title: string, count: number, rows: ReadonlyArray<Row>): void => {
  process.stdout.write(`${bold(title)}: ${count === 0 ? "nothing" : count}\n${table(rows)}`)
  if (count > rows.length) process.stdout.write(`  and ${count - rows.length} more\n`)
}

const titled = (id: string, title: string | null, all: ReadonlyArray<string>): Row => [
  `  ${shortIdIn(id, all)}`,
  shortened((title ?? "-").replaceAll(/\s+/g, " "), mostOfTitle)
]

const rowsOf = (items: ReadonlyArray<WorkItem>, all: ReadonlyArray<string>): ReadonlyArray<Row> =>
  items
    .slice(0, mostShown)
    .map((item) => [
      ...titled(item.session_id, item.title, all),
      `${workSentence(item)}${item.unread ? " (new)" : ""}`.replaceAll(/\s+/g, " ")
    ])

const requestRow =
  (all: ReadonlyArray<string>) =>
  (request: MergeRequest): Row => [
    ...titled(request.session_id, `${request.number === null ? "" : `#${request.number} `}${request.title}`, all),
    waitingSentence(request).replaceAll(/\s+/g, " ")
  ]

const automationLines = (all: ReadonlyArray<Automation>): string => {
  const paused = all.filter(({ state }) => state === "paused")
  const active = all.filter(({ state }) => state === "active").length
  const counted = active + paused.length === 0 ? "none" : `${active} on, ${paused.length} paused`
  const rows = paused.map(({ name, pause_reason }) => [
    `  ${name.replaceAll(/\s+/g, " ")}`,
    `paused: ${pause_reason?.replaceAll("_", " ") ?? "by a person"}`
  ])
  return `${bold("Automations")}: ${counted}\n${table(rows)}`
}
