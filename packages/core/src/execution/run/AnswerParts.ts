import { cutText } from "@reins/base/base/CutText"
import type { AgentPlan, Media } from "@reins/machine/harness/AgentReport"
import { type AnswerPart, type ContentBlock, withoutResult } from "../../sessions/rows/Message.js"
import type { ToolPayload } from "../../sessions/rows/ToolCall.js"

/** The longest text of a tool call in a message, in characters. */
const maxToolText = 4096
/** The most characters of the parts of a message, as JSON. Tool calls, images and files beyond it are named without what they gave. */
const maxParts = 1024 * 1024

/** The parts of an answer while it is made, in the order in which they began. */
export class AnswerParts {
  private readonly parts = new Map<string, AnswerPart>()

  /** Appends words to a part. */
  say(kind: "text" | "reasoning", part_key: string, words: string): void {
    const before = this.parts.get(part_key)
    const text = (before !== undefined && "text" in before ? before.text : "") + words
    this.parts.set(part_key, { kind, part_key, text })
  }

  /** Takes the present state of a tool call. */
  call(tool: ToolPayload): void {
    const part_key = `tool:${tool.tool_id}`
    this.parts.set(part_key, { kind: "tool", part_key, tool: shortened(tool) })
  }

  /** Takes the present state of a plan. */
  intend(plan: AgentPlan): void {
    const part_key = `plan:${plan.plan_id ?? ""}`
    if (plan.removed) this.parts.delete(part_key)
    else this.parts.set(part_key, { kind: "plan", part_key, plan })
  }

  show(part_key: string, media: Media): void {
    this.parts.set(part_key, { kind: "media", part_key, media })
  }

  /** The words, one block for each message of the agent. */
  content(): ReadonlyArray<ContentBlock> {
    return [...this.parts.values()].flatMap((part) =>
      part.kind === "text" && part.text !== "" ? [{ type: "text" as const, text: part.text }] : []
    )
  }

  /** The parts as a message holds them. */
  list(): ReadonlyArray<AnswerPart> {
    let length = 0
    return [...this.parts.values()].flatMap((part) => {
      if ("text" in part && part.text === "") return []
      length += JSON.stringify(part).length
      return [length <= maxParts ? part : withoutResult(part)]
    })
  }
}

const shortened = (tool: ToolPayload): ToolPayload => {
  const input = JSON.stringify(tool.input) ?? "null"
  const texts = tool.diffs.flatMap(({ new_text, old_text }) => [new_text, old_text ?? ""])
  return {
    ...tool,
    input: input.length <= maxToolText ? tool.input : { truncated: cutText(input, maxToolText) },
    output_text: tool.output_text === null ? null : cutText(tool.output_text, maxToolText),
    diffs: tool.diffs.map((diff) => ({
      ...diff,
      old_text: diff.old_text === null ? null : cutText(diff.old_text, maxToolText),
      new_text: cutText(diff.new_text, maxToolText)
    })),
    truncated: tool.truncated || [input, tool.output_text ?? "", ...texts].some(({ length }) => length > maxToolText)
  }
}
