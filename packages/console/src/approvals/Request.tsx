import { useSignal } from "@preact/signals"
import { lazy, Suspense } from "preact/compat"
import { commandIn, editsIn, shortPath, shortPaths, toolLine } from "../tools/ToolLine.js"

/** Most pages have no edit to show. */
const EditDiff = lazy(() => import("../tools/EditDiff.js").then(({ EditDiff }) => EditDiff))

const inputOf = (description: string): unknown => {
  try {
    return JSON.parse(description)
  } catch {
    return undefined
  }
}

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
  const input = inputOf(description)
  if (typeof input !== "object" || input === null) return <pre class="question-text">{shortPaths(description)}</pre>
  const { sort, subject, verb } = toolLine({ kind: "", title, input })
  const command = commandIn(input)
  const edits = editsIn(input)
  return (
    <>
      <p>
        {agent ?? "The agent"} wants to {sort === "other" ? `use ${verb}` : questions[sort]}:
      </p>
      {command !== undefined && <code class="block">{shortPaths(command)}</code>}
      {edits.map((edit) => (
        <Suspense key={edit.path} fallback={<code class="block">{edit.path}</code>}>
          <EditDiff edit={edit} />
        </Suspense>
      ))}
      {command === undefined && edits.length === 0 && (
        <Values values={input} subject={sort === "other" ? "" : subject} />
      )}
      <RawInput input={input} />
    </>
  )
}

/** The values of an input that is neither a command nor an edit. */
const Values = ({ subject, values }: { readonly values: object; readonly subject: string }) => {
  const others = Object.entries(values).filter(([, value]) => typeof value === "string" || typeof value === "number")
  if (subject !== "") return <code class="block">{shortPath(subject)}</code>
  return (
    <dl class="facts-list">
      {others.map(([name, value]) => (
        <>
          <dt key={`${name}.name`}>{name.replaceAll("_", " ")}</dt>
          <dd key={name}>{shortPaths(String(value))}</dd>
        </>
      ))}
    </dl>
  )
}

const RawInput = ({ input }: { readonly input: object }) => {
  const isOpen = useSignal(false)
  return (
    <details class="raw" onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
      <summary class="fine">Raw</summary>
      {isOpen.value && <code class="block">{JSON.stringify(input, null, 2)}</code>}
    </details>
  )
}
