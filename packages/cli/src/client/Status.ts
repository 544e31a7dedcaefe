import { shortened } from "@reins/base/base/CutText"
import { type Automation, type Reins, ReinsApiError, type WorkItem, workSentence } from "@reins/client"
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
    const [waiting, working, open, automations] = await Promise.all([
      work(reins, { workspace_id, view: "waiting" }),
      work(reins, { workspace_id, view: "working" }),
      work(reins, { workspace_id, view: "open" }),
      reins.automations.list({ workspace_id, limit: 200 }).all()
    ])
    const inReview = open.items.filter(({ state }) => state === "in_review")
    if (json)
      printJsonNow({
        counts: waiting.counts,
        waiting: waiting.items,
        working: working.items,
        in_review: inReview,
        automations
      })
    else {
      const all = [...waiting.items, ...working.items, ...inReview].map(({ session_id }) => session_id)
      part("Waits for you", waiting.counts.waiting, waiting.items, all)
      part("Agents work", waiting.counts.working, working.items, all)
      part("Open merge requests", inReview.length, inReview, all)
      process.stdout.write(automationLines(automations))
    }
    if (exitCode && waiting.counts.waiting > 0) process.exitCode = exitCodes.somethingWaits
  }
})

const work = async (
  reins: Reins,
  query: { readonly workspace_id: string; readonly view: "waiting" | "working" | "open" }
) => {
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

const part = (title: string, count: number, items: ReadonlyArray<WorkItem>, all: ReadonlyArray<string>): void => {
  process.stdout.write(`${bold(title)}: ${count === 0 ? "nothing" : count}\n`)
  if (items.length === 0) return
  const rows = items
    .slice(0, mostShown)
    .map((item) => [
      `  ${shortIdIn(item.session_id, all)}`,
      shortened((item.title ?? "-").replaceAll(/\s+/g, " "), mostOfTitle),
      `${workSentence(item)}${item.unread ? " (new)" : ""}`
    ])
  process.stdout.write(table(rows))
  if (count > rows.length) process.stdout.write(`  and ${count - rows.length} more\n`)
}

const automationLines = (all: ReadonlyArray<Automation>): string => {
  const paused = all.filter(({ state }) => state === "paused")
  const active = all.filter(({ state }) => state === "active").length
  const counted = `${bold("Automations")}: ${active === 0 ? "none" : active} on, ${paused.length} paused\n`
  return `${counted}${table(paused.map(({ name, pause_reason }) => [`  ${name}`, `paused: ${pause_reason?.replaceAll("_", " ") ?? "by a person"}`]))}`
}
