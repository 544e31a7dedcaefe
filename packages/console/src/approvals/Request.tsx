import { useSignal } from "@preact/signals"
import { askedCall, escapeUnseen, inputOfDescription } from "@reins/client"
import { Fragment } from "preact"
import { lazy, Suspense } from "preact/compat"
import { shortPath, shortPaths, toolLine } from "../tools/ToolLine.js"

/** Most pages have no edit to show. */
const EditDiff = lazy(() => import("../tools/EditDiff.js").then(({ EditDiff }) => EditDiff))

const questions = {
  command: "run this command",
  edit: "change this file",
  read: "read this",
  search: "search for this",
  fetch: "fetch this",
  delegate: "delegate this",
  other: "use a tool"
} as const

/** The request of an agent in the words of the thing: a command as a command, an edit as a diff. */
export const Request = ({
  agent,
  description,
  title
}: {
  readonly title: string
  /** The input of the tool as JSON, or words. */
  readonly description: string
  /** The name of the agent that asks. */
  readonly agent: string | undefined
}) => {
  const input = inputOfDescription(description)
  if (typeof input !== "object" || input === null) return <pre class="question-text">{shownText(description)}</pre>
  const { command, edits, values } = askedCall(input)
  const { sort } = toolLine({ kind: "", title, input })
  // A title alone makes no change of a file: `create_issue` is a tool of a server.
  const isTool = sort === "other" || (sort === "edit" && edits.length === 0)
  return (
    <>
      <p>
        {agent ?? "The agent"} wants to {isTool ? `use ${escapeUnseen(shortPaths(title))}` : questions[sort]}:
      </p>
      {command !== undefined && <code class="block">{shownText(command)}</code>}
      {edits.map(({ after, before, path }, at) => (
        <Suspense key={`${at}`} fallback={<code class="block">{shownText(path)}</code>}>
          <EditDiff edit={{ path: shortPath(path), before, after }} />
        </Suspense>
      ))}
      {values.length > 0 && (
        <dl class="facts-list">
          {values.map(({ name, text }) => (
            <Fragment key={name}>
              <dt>{escapeUnseen(name.replaceAll("_", " "))}</dt>
              <dd class="asked-value">{shownText(text)}</dd>
            </Fragment>
          ))}
        </dl>
      )}
      <RawInput input={input} />
    </>
  )
}

const shownText = (text: string): string => escapeUnseen(shortPaths(text))

const RawInput = ({ input }: { readonly input: object }) => {
  const isOpen = useSignal(false)
  return (
    <details class="raw" onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
      <summary class="fine">Raw</summary>
      {isOpen.value && <code class="block">{escapeUnseen(JSON.stringify(input, null, 2))}</code>}
    </details>
  )
}
