import type { AgentPlan } from "@reins/machine/harness/AgentReport"
import { Stream } from "effect"
import type { Interaction } from "../sessions/rows/Interaction.js"
import { type AnswerPart, type Message, textOf } from "../sessions/rows/Message.js"
import type { ToolPayload } from "../sessions/rows/ToolCall.js"
import type { Turn } from "../sessions/rows/Turn.js"
import type { ExportedChangeset } from "./ExportsApi.js"
import type { Part, SessionParts } from "./SessionParts.js"

/** A session as Markdown for people, in pieces. Tool calls have the shortened texts of the messages. */
export const writeMarkdown = (parts: SessionParts): Part<string> =>
  [
    sectionOf("Conversation", parts.messages, messageText),
    sectionOf("Questions", parts.interactions, questionText),
    sectionOf("Turns", parts.turns, turnText),
    sectionOf("Changes", parts.changesets, changesetText)
  ].reduce<Part<string>>((before, after) => Stream.concat(before, after), Stream.succeed(headText(parts)))

const sectionOf = <A>(name: string, items: Part<A>, textOf: (item: A) => string): Part<string> =>
  Stream.zipWithIndex(items).pipe(Stream.map(([item, at]) => `${at === 0 ? `\n## ${name}\n` : ""}\n${textOf(item)}\n`))

const headText = ({ session, usage }: SessionParts): string => {
  const { base, harness } = session
  const { cost_usd, input_tokens, output_tokens } = usage.total
  const facts = [
    `Session: ${codeText(session.id)}, ${session.lifecycle}`,
    `Agent: ${codeText(harness.provider_id)}${harness.model === null ? "" : `, model ${codeText(harness.model)}`}`,
    base.repository === null
      ? "Repository: none"
      : `Repository: ${codeText(base.repository)}${base.commit === null ? "" : ` at ${codeText(base.commit)}`}`,
    `Created: ${session.created_at}`,
    `Last change: ${session.updated_at}`,
    `Tokens: ${input_tokens ?? "unknown"} in, ${output_tokens ?? "unknown"} out`,
    `Cost: ${cost_usd === null ? "unknown" : `${cost_usd} US dollars`}`
  ]
  return `# ${lineText(session.title ?? "Session without a title")}\n\n${facts.map((fact) => `- ${fact}\n`).join("")}`
}

const speakers = { user: "User", assistant: "Agent", system: "System" } as const

const messageText = (message: Message): string => {
  const files = message.content.flatMap((block) => (block.type === "file" ? [`- File: ${codeText(block.path)}`] : []))
  const said = textOf(message.content)
  const body =
    message.parts.length > 0
      ? message.parts.map(partText).join("\n\n")
      : message.role === "assistant"
        ? said
        : quoted(said)
  const head = `### ${message.ordinal}. ${speakers[message.role]}, ${message.created_at}`
  return [head, body, files.join("\n")].filter((text) => text !== "").join("\n\n")
}

const partText = (part: AnswerPart): string => {
  switch (part.kind) {
    case "text":
      return part.text
    case "reasoning":
      return `*Reasoning*\n\n${quoted(part.text)}`
    case "tool":
      return toolText(part.tool)
    case "plan":
      return planText(part.plan)
    case "media":
      return `- ${part.media.kind}: ${codeText(part.media.name ?? part.media.uri ?? "without a name")}`
  }
}

const toolText = ({ input, kind, output_text, state, title, truncated }: ToolPayload): string =>
  [
    `**${lineText(kind)}** ${codeText(title)} (${state}${truncated ? ", shortened" : ""})`,
    ...(input === null || input === undefined ? [] : [fenced(JSON.stringify(input, null, 2), "json")]),
    ...(output_text === null ? [] : [fenced(output_text)])
  ].join("\n\n")

const planText = ({ entries, text }: AgentPlan): string =>
  [
    "*Plan*",
    text ??
      entries.map(({ content, status }) => `- [${status === "completed" ? "x" : " "}] ${lineText(content)}`).join("\n")
  ].join("\n\n")

const questionText = ({ answer, description, note, options, state, title }: Interaction): string => {
  const chosen = options.find(({ id }) => id === answer)?.name
  return [
    `### ${lineText(title)}`,
    ...(description === null ? [] : [quoted(description)]),
    `- State: ${state}\n- Answer: ${chosen === undefined ? "none" : lineText(chosen)}${note === null ? "" : `\n- Note: ${lineText(note)}`}`
  ].join("\n\n")
}

const turnText = ({ ordinal, reason_message, settings, state, usage }: Turn): string =>
  [
    `- Turn ${ordinal}: ${state}`,
    ...(settings.model === null ? [] : [`model ${codeText(settings.model)}`]),
    `${usage.input_tokens ?? "unknown"} tokens in, ${usage.output_tokens ?? "unknown"} out`,
    ...(reason_message === null ? [] : [lineText(reason_message)])
  ].join("; ")

const changesetText = (changeset: ExportedChangeset): string => {
  const { additions, deletions, diff, diff_error, diff_truncated, empty, file_count, id, state } = changeset
  const head = `### Changeset ${codeText(id)}\n\n${file_count} files, ${additions} added and ${deletions} deleted lines (${state})`
  if (diff !== null) return `${head}${diff_truncated ? ", shortened" : ""}\n\n${fenced(diff, "diff")}`
  if (diff_error !== null) return `${head}\n\nThe diff could not be read: ${diff_error}.`
  return empty ? `${head}\n\nNothing differs from the base commit.` : head
}

/** One line of words without marks of Markdown. */
const lineText = (text: string): string =>
  text
    .replaceAll(/\s+/g, " ")
    .trim()
    .replaceAll(/[\\`*_[\]<>#|~]/g, "\\$&")

/** The longest run of backticks in a text. */
const longestRun = (text: string): number => Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))

const codeText = (text: string): string => {
  const line = text.replaceAll(/\s+/g, " ").trim()
  const marks = "`".repeat(longestRun(line) + 1)
  return marks.length === 1 ? `\`${line}\`` : `${marks} ${line} ${marks}`
}

const fenced = (text: string, language = ""): string => {
  const marks = "`".repeat(Math.max(3, longestRun(text) + 1))
  return `${marks}${language}\n${text}${text.endsWith("\n") ? "" : "\n"}${marks}`
}

const quoted = (text: string): string =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n")
