import { digestOf } from "@reins/base/base/CanonicalJson"
import { cutText } from "@reins/base/base/CutText"
import type { NewEvent } from "@reins/base/domain/Event"
import type { Tool } from "@reins/machine/harness/HarnessEvent"
import { changeOf, type ToolPayload } from "../../sessions/rows/ToolCall.js"

/** The longest text in an event, in characters. Longer texts are cut. The changeset holds the whole changes of files. */
const maxText = 64 * 1024

/** The event of a tool call, and the number of its characters that repeat or replace what was told before. */
interface Told {
  readonly type: "tool.started" | "tool.updated" | "tool.completed"
  readonly event: Pick<NewEvent, "type" | "payload">
  readonly payload: ToolPayload
  readonly repeated: number
}

/** Makes events of tool calls: whole at their start and at their end, and by what has changed between. */
export class ToolEvents {
  /** What was told of the calls that go on. */
  private readonly open = new Map<string, ToolPayload>()
  /** The digest of the last event of each call. */
  private readonly digests = new Map<string, string>()

  isKnown(toolId: string): boolean {
    return this.digests.has(toolId)
  }

  /** The event of a call as it is now; undefined when it is as it was told. */
  of(tool: Tool): Told | undefined {
    const payload = payloadOf(tool)
    const before = this.open.get(tool.tool_id)
    const known = this.digests.get(tool.tool_id)
    const digest = digestOf(JSON.stringify(payload))
    if (known === digest) return undefined
    this.digests.set(tool.tool_id, digest)
    if (hasEnded(tool)) {
      this.open.delete(tool.tool_id)
      return { type: "tool.completed", event: { type: "tool.completed", payload }, payload, repeated: 0 }
    }
    this.open.set(tool.tool_id, payload)
    if (known === undefined)
      return { type: "tool.started", event: { type: "tool.started", payload }, payload, repeated: 0 }
    const change = changeOf(before, payload)
    const { output_appended, output_offset, ...rest } = change
    const isAppended = output_offset === (before?.output_text?.length ?? 0)
    const repeated = JSON.stringify(rest).length + (isAppended ? 0 : (output_appended?.length ?? 0))
    return { type: "tool.updated", event: { type: "tool.updated", payload: change }, payload, repeated }
  }
}

export const hasEnded = ({ state }: Pick<Tool, "state">): boolean =>
  state === "done" || state === "failed" || state === "aborted"

/** The start of a text. It ends with no half of a character, whose other half may come later. */
const startOf = (text: string): string => cutText(text, maxText).replace(/[\ud800-\udbff]$/, "")

const payloadOf = (tool: Tool): ToolPayload => {
  const input = JSON.stringify(tool.input) ?? "null"
  const output = tool.output_text ?? null
  const diffs = tool.diffs.map((diff) => ({
    path: diff.path,
    old_text: diff.old_text === null ? null : startOf(diff.old_text),
    new_text: startOf(diff.new_text)
  }))
  return {
    tool_id: tool.tool_id,
    kind: tool.kind,
    title: cutText(tool.title, 1000),
    input: input.length <= maxText ? tool.input : { truncated: startOf(input) },
    state: tool.state,
    output_text: output === null ? null : startOf(output),
    diffs,
    locations: tool.locations,
    media: tool.media,
    truncated:
      input.length > maxText ||
      (output?.length ?? 0) > maxText ||
      tool.diffs.some((diff) => diff.new_text.length > maxText || (diff.old_text?.length ?? 0) > maxText)
  }
}
