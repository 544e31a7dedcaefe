import { askedText, type Changeset, escapeUnseen, type Interaction, type Reins, ToolCalls } from "@reins/client"
import { cut } from "./Tool.js"

// The words of a question to a person, who sees neither the page nor the files while deciding.

/** The most characters of one subject. The page of the question has the rest. */
const mostCharacters = 40_000

/** The most characters of an approval, so that its session and its title stand before it. */
const mostOfSubject = mostCharacters - 4000

/** The session that a question is about. */
export const sessionOf = async (reins: Reins, session_id: string) => {
  const { base, id, title } = await reins.sessions.get({ session_id })
  return { session_id: id, session_title: title, repository: base.repository, ref: base.ref }
}

type OfSession = Awaited<ReturnType<typeof sessionOf>>

/** True for a question that the words for a person show whole. */
export const isShownWhole = (asked: Interaction): boolean =>
  asked.kind !== "approval" || (asked.subject?.complete === true && askedText(asked).length < mostOfSubject)

/** The question of an agent in full: its session, its repository, and the whole input of the call that it asks for. */
export const questionText = async (reins: Reins, of: OfSession, asked: Interaction): Promise<string> => {
  const lines = [`An agent asks: ${asked.title}`, ...linesOf(of)]
  if (of.ref !== null) lines.push(`Started from: ${of.ref}`)
  const input =
    asked.subject !== null ? "" : asked.tool === null ? await callText(reins, asked) : textOf(asked.tool.input)
  const details = askedText(asked)
  // The log has the whole of an input that the description has not.
  const isCut = input !== "" && details.includes("more characters are in the events")
  if (details !== "" && !isCut) lines.push("", details)
  if (input !== "") lines.push("", "Input:", input)
  return cut(escapeUnseen(lines.join("\n")), mostCharacters)
}

export interface WantedDelivery {
  readonly branch: string | undefined
  readonly title: string | undefined
  readonly isRequested: boolean
}

/** The effect of a delivery, and its place. */
export const deliveryText = (
  of: OfSession,
  changeset: Changeset,
  { branch, isRequested, title }: WantedDelivery
): string => {
  const { additions, deletions, file_count, files, id } = changeset
  const paths = files.map(({ path }) => path).join(", ")
  const lines = [
    `Push these changes as ${branch === undefined ? "a branch of its own" : `the branch ${branch}`}${isRequested ? " and open a merge request" : ""}?`,
    ...linesOf(of),
    `Branch: ${branch ?? "one of its own"}`,
    `Merge request: ${isRequested ? "yes" : "no"}`,
    `Subject of the commit: ${title ?? "that of the session"}`,
    `Changeset: ${id}, ${file_count} files, +${additions} -${deletions}`,
    `Files: ${paths}`
  ]
  return cut(escapeUnseen(lines.join("\n")), mostCharacters)
}

const linesOf = ({ repository, session_id, session_title }: OfSession): ReadonlyArray<string> => [
  `Session: ${session_title ?? "without a title"} (${session_id})`,
  `Repository: ${repository ?? "none"}`
]

/** The call that an approval is about, as the log of its turn has it. Empty where the description has the whole input. */
const callText = async (reins: Reins, { description, session_id, tool_id, turn_id }: Interaction): Promise<string> => {
  if (tool_id === null) return ""
  const calls = new ToolCalls()
  let call: ReturnType<typeof calls.take>
  for (let after = 0, isLeft = true; isLeft; ) {
    const types = "tool.started,tool.updated"
    const page = await reins.sessions.listEvents({ session_id, turn_id, types, after, limit: 1000 })
    for (const event of page.items)
      if ((event.type === "tool.started" || event.type === "tool.updated") && event.payload.tool_id === tool_id)
        call = calls.take(event)
    isLeft = page.has_more
    after = page.next_after
  }
  if (call === undefined) return ""
  const input = textOf(call.input)
  // A description is the input as JSON, with more fields behind it.
  if (input !== "" && description?.startsWith(JSON.stringify(call.input).slice(0, -1))) return ""
  const changes = call.diffs.map(({ new_text, path }) => `${path}:\n${new_text}`)
  // The input of most edits has the new text already.
  const shown = changes.filter((_, at) => !input.includes(JSON.stringify(call.diffs[at]?.new_text).slice(1, -1)))
  const places = call.locations.map(({ line, path }) => (line === null ? path : `${path}:${line}`))
  return [input, ...shown, ...places.filter((place) => !input.includes(place))].filter((text) => text !== "").join("\n")
}

const textOf = (input: unknown): string => {
  if (input === null || input === undefined) return ""
  if (typeof input === "string") return input
  const isEmpty = typeof input === "object" && Object.keys(input).length === 0
  return isEmpty ? "" : JSON.stringify(input, null, 2)
}
