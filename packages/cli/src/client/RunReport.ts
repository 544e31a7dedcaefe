import { appendFileSync, writeFileSync } from "node:fs"
import {
  type Care,
  type Changeset,
  careSentence,
  type Delivery,
  type MergeRequest,
  type Reins,
  type TurnSnapshot
} from "@reins/client"
import { CommandFailed } from "../CommandFailed.js"

/** The end of a run, as far as it came. */
export interface RunEnd {
  readonly sessionId: string
  readonly turn: TurnSnapshot | undefined
  readonly changeset: Changeset | undefined
  readonly delivery: Delivery | undefined
  readonly request: MergeRequest | undefined
  readonly care: Care | undefined
}

/** Writes the last words of the agent into a file; nothing when it said none. */
export const writeOutput = async (reins: Reins, file: string, { turn }: RunEnd): Promise<void> =>
  written(file, () => lastWords(reins, turn).then((words) => writeFileSync(file, words)))

/** Adds a report in Markdown to the end of a file, as continuous integration collects them. */
export const addSummary = (file: string, url: string, end: RunEnd): Promise<void> =>
  written(file, async () => appendFileSync(file, summaryOf(url, end)))

const written = async (file: string, write: () => Promise<void>): Promise<void> => {
  try {
    await write()
  } catch (error) {
    // Boundary: Node gives the name of what went wrong with a file as `code`.
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new CommandFailed({ message: `${file} could not be written: ${code}` })
  }
}

/** The last words of the agent in a turn, with a line end; empty when it said none. */
export const lastWords = async (reins: Reins, turn: TurnSnapshot | undefined): Promise<string> => {
  const message_id = turn?.outcome?.message_id
  if (turn === undefined || message_id == null) return ""
  for await (const { id, parts } of reins.messages.list({ session_id: turn.session_id })) {
    if (id !== message_id) continue
    const words = parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n\n")
    return words === "" ? "" : `${words.trimEnd()}\n`
  }
  return ""
}

const mostFiles = 100

/** Names from an agent are code in it, so that none becomes a link, a picture or a heading. */
const summaryOf = (url: string, { care, changeset, delivery, request, sessionId, turn }: RunEnd): string => {
  const files = changeset?.files ?? []
  const lines = [
    `### Reins: ${turn === undefined ? "the turn goes on" : (outcomes[turn.state] ?? turn.state)}`,
    "",
    ...(turn?.reason_message == null ? [] : [code(turn.reason_message), ""]),
    ...(changeset === undefined
      ? []
      : [
          `${files.length} file${files.length === 1 ? "" : "s"} changed, +${changeset.additions} -${changeset.deletions}`,
          ""
        ]),
    ...files.slice(0, mostFiles).map(({ path }) => `- ${code(path)}`),
    ...(files.length > mostFiles ? [`- and ${files.length - mostFiles} more`] : []),
    ...(files.length === 0 ? [] : [""]),
    ...(delivery === undefined ? [] : [`Branch ${code(delivery.target_ref)}: ${delivery.state}`, ""]),
    ...(request === undefined ? [] : [`Merge request ${code(request.web_url ?? request.id)}: ${request.state}`, ""]),
    ...(care?.state === "handed_over" ? [code(careSentence(care)), ""] : []),
    ...(turn?.usage.cost_usd == null ? [] : [`Cost: $${turn.usage.cost_usd.toFixed(4)}`, ""]),
    `[The session](${url}/ui/sessions/${sessionId})`,
    ""
  ]
  return lines.join("\n")
}

const outcomes: Readonly<Partial<Record<TurnSnapshot["state"], string>>> = {
  succeeded: "done",
  failed: "the turn failed",
  cancelled: "the turn was cancelled",
  interrupted: "the turn was interrupted"
}

/** A text as code in Markdown, in a fence that it does not have. */
const code = (text: string): string => {
  const line = text.replaceAll(/\s+/g, " ")
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([ticks]) => ticks.length))
  const fence = "`".repeat(longest + 1)
  return longest === 0 ? `${fence}${line}${fence}` : `${fence} ${line} ${fence}`
}
