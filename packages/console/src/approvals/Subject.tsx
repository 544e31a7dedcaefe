import {
  type ApprovalSubject,
  askedCall,
  escapeUnseen,
  gapSentence,
  inputOfDescription,
  shownName
} from "@reins/client"
import { Fragment } from "preact"
import { lazy, Suspense } from "preact/compat"
import { count } from "../words/Words.js"

/** Most pages have no edit to show. */
const EditDiff = lazy(() => import("../tools/EditDiff.js").then(({ EditDiff }) => EditDiff))

/** The words for what an agent wants to do. */
const wishOf = ({ edits, files, kind, tool }: ApprovalSubject): string => {
  switch (kind) {
    case "command":
      return "run this command"
    case "edit":
      return edits.length === 0
        ? "change files"
        : files === 1
          ? "change this file"
          : `change these ${count(files, "file")}`
    case "read":
      return "read this"
    case "search":
      return "search for this"
    case "fetch":
      return "fetch this"
    case "delegate":
      return "hand this to another agent"
    case "tool":
      return `use ${shownName(tool ?? "a tool")}`
    default:
      return "do something that it does not explain"
  }
}

/** The thing that an agent asks leave for: a command as a command, an edit as a diff, and a sentence about what is missing. */
export const Subject = ({
  agent,
  mostLines,
  subject
}: {
  readonly subject: ApprovalSubject
  /** The name of the agent that asks. */
  readonly agent: string | undefined
  /** The lines of each change that are drawn. */
  readonly mostLines: number
}) => {
  const { additions, command, cwd, deletions, edits, files, input, url } = subject
  const gap = gapSentence(subject)
  return (
    <>
      <p>
        {agent ?? "The agent"} wants to {wishOf(subject)}:{" "}
        {files > 1 && (
          <span class="delta">
            <ins>+{additions}</ins> <del>−{deletions}</del>
          </span>
        )}
      </p>
      {command !== null && <code class="block">{escapeUnseen(command)}</code>}
      {cwd !== null && cwd !== "." && (
        <p class="fine">
          in <code>{shownName(cwd)}</code>
        </p>
      )}
      {url !== null && <code class="block">{escapeUnseen(url)}</code>}
      {edits.map(({ line, new_text, old_text, path }, at) => (
        <Suspense key={`${at}`} fallback={<code class="block">{escapeUnseen(path)}</code>}>
          <EditDiff edit={{ path, before: old_text, after: new_text, line }} most={mostLines} />
        </Suspense>
      ))}
      {input !== null && <Values input={input} />}
      {gap !== undefined && <p class="notice gap">{gap}</p>}
    </>
  )
}

/** The other values of the call. */
const Values = ({ input }: { readonly input: string }) => {
  const value = inputOfDescription(input)
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return <pre class="question-text">{escapeUnseen(input)}</pre>
  const { command, edits, values } = askedCall(value)
  // Fields that are named like those of a command or an edit are values here.
  const all = command === undefined && edits.length === 0 ? values : Object.entries(value).map(asValue)
  return (
    <dl class="facts-list">
      {all.map(({ name, text }) => (
        <Fragment key={name}>
          <dt>{escapeUnseen(name.replaceAll("_", " "))}</dt>
          <dd class="asked-value">{escapeUnseen(text)}</dd>
        </Fragment>
      ))}
    </dl>
  )
}

const asValue = ([name, value]: readonly [string, unknown]) => ({
  name,
  text: typeof value === "string" ? value : JSON.stringify(value, null, 2)
})
