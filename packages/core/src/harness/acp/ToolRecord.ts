import { Either, Schema } from "effect"
import { cutText } from "../../base/CutText.js"
import type { Media } from "../AgentReport.js"
import type { HarnessDiff, Tool } from "../HarnessEvent.js"
import { type ToolCall, ToolContent } from "./AcpSchema.js"
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

const decodeContent = Schema.decodeUnknownEither(ToolContent)

const rawOutputText = (rawOutput: unknown): string | undefined => {
  if (typeof rawOutput === "string") return rawOutput
  const output = valueAt(rawOutput, ["output"])
  return typeof output === "string" ? output : undefined
}

/** The files, the words and whatever else is shown in a tool's content. */
const readContent = (content: ReadonlyArray<unknown>) => {
  const diffs: Array<HarnessDiff> = []
  const texts: Array<string> = []
  const media: Array<Media> = []
  for (const item of content.flatMap((each) =>
    Either.match(decodeContent(each), { onLeft: () => [], onRight: (known) => [known] })
  )) {
    if (item.type === "diff") {
      diffs.push({ path: item.path, old_text: item.oldText ?? null, new_text: item.newText })
      continue
    }
    const shown = Content.mediaOf(item.content)
    if (shown !== undefined) media.push(shown)
    else texts.push(Content.wordsOf([item.content]))
  }
  return { diffs, media: media.slice(0, maxShown), text: texts.length === 0 ? undefined : texts.join("\n") }
}

/** The tool call after a further message about it. Fields that the message leaves out stay as they were. */
export const merge = (before: Tool | undefined, call: ToolCall): Tool => {
  const content = readContent(call.content ?? [])
  const more = call._meta?.terminal_output_delta?.data
  const output =
    content.text ??
    rawOutputText(call.rawOutput) ??
    (more === undefined ? before?.output_text : (before?.output_text ?? "") + more)
  return {
    _tag: "tool",
    tool_id: call.toolCallId,
    kind: call.kind ?? before?.kind ?? "other",
    title: call.title ?? before?.title ?? call.kind ?? "tool",
    input: call.rawInput ?? before?.input ?? null,
    state: toolStates[call.status ?? ""] ?? before?.state ?? "pending",
    ...(output === undefined ? {} : { output_text: cutText(output, outputLength) }),
    diffs: content.diffs.length > 0 ? content.diffs : (before?.diffs ?? []),
    locations:
      call.locations
        ?.slice(0, maxLocations)
        .map(({ line, path }) => ({ path, line: line === null || line === undefined ? null : Math.round(line) })) ??
      before?.locations ??
      [],
    media: content.media.length > 0 ? content.media : (before?.media ?? [])
  }
}

/** True for a call that has not ended. */
export const isOpen = (tool: Tool): boolean => tool.state === "pending" || tool.state === "running"
