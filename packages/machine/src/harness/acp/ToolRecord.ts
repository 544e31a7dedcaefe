import { cutText } from "@reins/base/base/CutText"
import { Either, Option, Schema } from "effect"
import type { Media } from "../AgentReport.js"
import type { HarnessDiff, Tool } from "../HarnessEvent.js"
import { type ToolCall, ToolContent, ToolLocation } from "./AcpSchema.js"
import * as Content from "./Content.js"
import { valueAt } from "./ValueAt.js"

/** The start of an output is kept, because what is told of it must not change as it grows. */
const outputLength = 256 * 1024
/** The most images, files and places of one call that are kept. */
const maxShown = 20
const maxLocations = 100

const toolStates: Readonly<Record<string, Tool["state"]>> = {
  pending: "pending",
  in_progress: "running",
  completed: "done",
  failed: "failed"
}

const decodeLocation = Schema.decodeUnknownOption(ToolLocation)
const decodeContent = Schema.decodeUnknownEither(ToolContent)

const rawOutputText = (rawOutput: unknown): string | undefined => {
  if (typeof rawOutput === "string") return rawOutput
  const output = valueAt(rawOutput, ["output"])
  return typeof output === "string" ? output : undefined
}

/** The files, the words and whatever else is shown in a tool's content. */
const readContent = (content: ReadonlyArray<unknown>, isDeletion: boolean) => {
  const diffs: Array<HarnessDiff> = []
  const texts: Array<string> = []
  const media: Array<Media> = []
  for (const item of content.flatMap((each) =>
    Either.match(decodeContent(each), { onLeft: () => [], onRight: (known) => [known] })
  )) {
    if (item.type === "diff") {
      const isDeleted = item.newText === "" && (isDeletion || item._meta?.kind === "delete")
      const sides = { path: item.path, old_text: item.oldText ?? null, new_text: item.newText }
      diffs.push({ ...sides, ...(isDeleted && { is_deleted: true }) })
      continue
    }
    const shown = Content.mediaOf(item.content)
    if (shown !== undefined) media.push(shown)
    else texts.push(Content.wordsOf([item.content]))
  }
  return { diffs, media: media.slice(0, maxShown), text: texts.length === 0 ? undefined : texts.join("\n") }
}

/** The places that can be read. */
const placesOf = ({ locations }: ToolCall): Tool["locations"] =>
  (locations ?? [])
    .slice(0, maxLocations)
    .flatMap((each) => Option.toArray(decodeLocation(each)))
    .map(({ line, path }) => ({ path, line: line === null ? null : Math.round(line) }))

/** True for a value that says nothing, such as the input of a call before its model has written it. */
export const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === "" ||
  (typeof value === "object" && Object.keys(value).length === 0)

/** The name of the tool, where the agent tells it beside the title: in a field of the protocol, or in one of its own. */
const nameOf = ({ _meta, name }: ToolCall): string | undefined => name ?? _meta?.toolName ?? undefined

/** A title that is the input once more names no tool. */
const titleOf = (call: ToolCall, before: Tool | undefined): string => {
  const isInput =
    !isEmpty(call.rawInput) && withoutSpace(call.title ?? "") === withoutSpace(JSON.stringify(call.rawInput))
  const title = isInput ? null : call.title
  return title ?? before?.title ?? nameOf(call) ?? call.title ?? call.kind ?? "tool"
}

/** The spaces of a title are not those of the agent. */
const withoutSpace = (text: string): string => text.replaceAll(/\s+/g, "")

/** The tool call of a permission request, whose title may name less than the one before: a tool without its server. */
export const mergeAsked = (before: Tool | undefined, call: ToolCall): Tool => {
  const after = merge(before, call)
  const isPart = before !== undefined && after.title !== "" && before.title.includes(after.title)
  return isPart ? { ...after, title: before.title } : after
}

/**
 * The tool call after a further message about it. Fields that the message leaves out, or has without a value, stay as they were. Agents ask for leave
 * with an empty input that they have told before.
 */
export const merge = (before: Tool | undefined, call: ToolCall): Tool => {
  const kind = call.kind ?? before?.kind ?? "other"
  const content = readContent(call.content ?? [], kind === "delete")
  const places = placesOf(call)
  const more = call._meta?.terminal_output_delta?.data
  const output =
    content.text ??
    rawOutputText(call.rawOutput) ??
    (more === undefined ? before?.output_text : (before?.output_text ?? "") + more)
  return {
    _tag: "tool",
    tool_id: call.toolCallId,
    kind,
    title: titleOf(call, before),
    input: (isEmpty(call.rawInput) ? before?.input : undefined) ?? call.rawInput ?? null,
    state: toolStates[call.status ?? ""] ?? before?.state ?? "pending",
    ...(output === undefined ? {} : { output_text: cutText(output, outputLength) }),
    diffs: content.diffs.length > 0 ? content.diffs : (before?.diffs ?? []),
    locations: places.length > 0 ? places : (before?.locations ?? []),
    media: content.media.length > 0 ? content.media : (before?.media ?? [])
  }
}

/** True for a call that has not ended. */
export const isOpen = (tool: Tool): boolean => tool.state === "pending" || tool.state === "running"
