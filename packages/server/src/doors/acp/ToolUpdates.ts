import type { SessionUpdate, ToolCall, ToolCallContent, ToolKind } from "@agentclientprotocol/sdk"
import { type AgentMedia, escapeUnseen, type ToolPayload } from "@reins/client"
import type { Paths } from "./Paths.js"

const kinds: ReadonlyArray<ToolKind> = [
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
  "switch_mode",
  "other"
]

const statuses = {
  pending: "pending",
  running: "in_progress",
  done: "completed",
  failed: "failed",
  aborted: "failed"
} as const

/** The id of a tool call for the editor. An agent's own ids are unique within a turn only. */
export const toolCallId = (turnId: string | undefined, toolId: string): string => `${turnId ?? ""}:${toolId}`

/** All that is known of a tool call, as an update. */
export const toolUpdate = (paths: Paths, id: string, tool: ToolPayload, isFirst: boolean): SessionUpdate => {
  const call = toolCall(paths, id, tool)
  return isFirst ? { ...call, sessionUpdate: "tool_call" } : { ...call, sessionUpdate: "tool_call_update" }
}

/** All that is known of a tool call. */
export const toolCall = ({ inText, inValue, toEditor }: Paths, id: string, tool: ToolPayload): ToolCall => {
  const output = tool.output_text
  const content: Array<ToolCallContent> = [
    ...tool.diffs.map(({ new_text, old_text, path }) => ({
      type: "diff" as const,
      path: toEditor(path),
      oldText: old_text,
      newText: new_text
    })),
    ...(output === null || output === "" ? [] : [text(tool.kind === "execute" ? fenced(output) : inText(output))]),
    ...tool.media.flatMap(shown)
  ]
  return {
    toolCallId: id,
    title: escapeUnseen(inText(tool.title)) || tool.kind,
    kind: kinds.find((kind) => kind === tool.kind) ?? "other",
    status: statuses[tool.state],
    ...(content.length > 0 && { content }),
    locations: tool.locations.map(({ line, path }) => ({ path: toEditor(path), ...(line !== null && { line }) })),
    rawInput: inValue(tool.input)
  }
}

export const text = (words: string): ToolCallContent => ({ type: "content", content: { type: "text", text: words } })

/** Output as a block of code, whose fence is longer than any in it. */
export const fenced = (output: string, language = ""): string => {
  const longest = (output.match(/`+/g) ?? []).reduce((most, { length }) => Math.max(most, length), 2)
  const fence = "`".repeat(longest + 1)
  return `${fence}${language}\n${output.replace(/\n$/, "")}\n${fence}`
}

const shown = ({ data, kind, media_type, name, uri }: AgentMedia): ReadonlyArray<ToolCallContent> => {
  const mimeType = media_type ?? ""
  if (data !== null && kind === "image") return [{ type: "content", content: { type: "image", mimeType, data } }]
  if (data !== null && kind === "audio") return [{ type: "content", content: { type: "audio", mimeType, data } }]
  if (uri === null) return []
  return [{ type: "content", content: { type: "resource_link", name: name ?? uri, uri } }]
}
