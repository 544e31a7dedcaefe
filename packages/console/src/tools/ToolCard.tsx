import { useSignal } from "@preact/signals"
import { escapeUnseen, type ToolPayload } from "@reins/client"
import { MediaView } from "../session/MediaView.js"
import { State } from "../ui/Basics.js"
import { now } from "../ui/Now.js"
import { duration } from "../words/Words.js"
import { lastLines } from "./Ansi.js"
import { EditDiff } from "./EditDiff.js"
import { Icon } from "./Icon.js"
import { Output } from "./Output.js"
import { commandIn, type Edit, editsIn, shortPath, shortPaths, type ToolLine, toolLine } from "./ToolLine.js"

const ended: ReadonlySet<string> = new Set(["done", "failed", "aborted"])

/** The lines of a running command that are shown without opening it. */
const tail = 8

interface ToolCardProps {
  readonly tool: ToolPayload
  readonly began: string
  /** The time of its end; null while it runs. */
  readonly ended: string | null
}

/** A tool that the agent called: one line, which opens to what went in and came out. A running command shows its last lines. */
export const ToolCard = ({ began, ended: end, tool }: ToolCardProps) => {
  const { output_text, state } = tool
  const { sort, subject, verb } = toolLine(tool)
  const isOpen = useSignal(false)
  const isRunning = !ended.has(state)
  return (
    <div class="tool">
      <details onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
        <summary title={new Date(began).toLocaleString()}>
          <Icon sort={sort} />
          <span class="tool-title">{verb}</span>
          {subject !== "" && <code>{subject}</code>}
          <span class="tool-end">
            {state !== "done" && <State of={state} />}
            {isRunning ? <Ticking from={began} /> : end !== null && <Took from={began} to={end} />}
          </span>
        </summary>
        {isOpen.value && <Body tool={tool} sort={sort} subject={subject} />}
      </details>
      {isRunning && !isOpen.value && output_text !== null && output_text.trim() !== "" && (
        <Output text={lastLines(output_text, tail)} />
      )}
    </div>
  )
}

/** Short calls say no time. */
const Took = ({ from, to }: { readonly from: string; readonly to: string }) =>
  Date.parse(to) - Date.parse(from) < 1000 ? null : <span class="fine">{duration(from, to)}</span>

const Ticking = ({ from }: { readonly from: string }) => (
  <span class="fine">{duration(from, new Date(Math.max(now.value, Date.parse(from))).toISOString())}</span>
)

const editsOf = ({ diffs, input }: ToolPayload): ReadonlyArray<Edit> =>
  diffs.length > 0
    ? diffs.map(({ new_text, old_text, path }) => ({ path: shortPath(path), before: old_text, after: new_text }))
    : editsIn(input)

/** The input of a tool, the values by name. The page has no other words for a function of a caller. */
const inputOf = ({ input }: ToolPayload): string | undefined =>
  typeof input === "object" && input !== null && Object.keys(input).length > 0
    ? shortPaths(JSON.stringify(input, null, 2))
    : undefined

interface BodyProps extends Pick<ToolLine, "sort" | "subject"> {
  readonly tool: ToolPayload
}

const Body = ({ sort, subject, tool }: BodyProps) => {
  const { input, locations, media, output_text, truncated } = tool
  const edits = editsOf(tool)
  const command = commandIn(input)
  const given = (sort === "other" || sort === "delegate") && edits.length === 0 ? inputOf(tool) : undefined
  const places = locations
    .map(({ line, path }) => (line === null ? shortPath(path) : `${shortPath(path)}:${line}`))
    .filter((place) => place !== subject && !edits.some(({ path }) => path === place))
  return (
    <div class="tool-body">
      {command !== undefined && shortPaths(command) !== subject && (
        <code class="block">{escapeUnseen(shortPaths(command))}</code>
      )}
      {given !== undefined && <code class="block">{escapeUnseen(given)}</code>}
      {places.length > 0 && <p class="fine">{places.join(", ")}</p>}
      {edits.map((edit) => (
        <EditDiff key={edit.path} edit={edit} />
      ))}
      {output_text !== null && output_text !== "" && <Output text={output_text} />}
      {media.map((each, at) => (
        <MediaView key={`${at}`} media={each} />
      ))}
      {truncated && <p class="fine">The output is longer than what is shown.</p>}
      <Raw tool={tool} />
    </div>
  )
}

/** The call as the API tells it. */
const Raw = ({ tool }: { readonly tool: ToolPayload }) => {
  const isOpen = useSignal(false)
  return (
    <details class="raw" onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
      <summary class="fine">Raw</summary>
      {isOpen.value && (
        <code class="block">
          {JSON.stringify({ kind: tool.kind, title: tool.title, input: tool.input, state: tool.state }, null, 2)}
        </code>
      )}
    </details>
  )
}
