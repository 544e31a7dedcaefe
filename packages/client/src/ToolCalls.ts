import type { ToolPayload, ToolUpdate } from "./generated/Resources.js"

/** Folds the events of tool calls: `tool.updated` holds what has changed, and appends to the output. */
export class ToolCalls {
  private readonly calls = new Map<string, ToolPayload>()

  /** The call after the event; undefined when the start of the call was not seen and the event is not whole. */
  readonly take = (event: {
    readonly type: "tool.started" | "tool.updated" | "tool.completed"
    readonly turn_id?: string
    readonly payload: ToolPayload | ToolUpdate
  }): ToolPayload | undefined => {
    const key = `${event.turn_id ?? ""} ${event.payload.tool_id}`
    const call = fold(this.calls.get(key), event.payload)
    if (call === undefined || event.type === "tool.completed") this.calls.delete(key)
    else this.calls.set(key, call)
    return call
  }
}

const fold = (before: ToolPayload | undefined, event: ToolPayload | ToolUpdate): ToolPayload | undefined => {
  if (isWhole(event)) return event
  if (before === undefined) return undefined
  const { output_appended, output_offset, ...fields } = event
  const changed = { ...before, ...fields }
  if (output_appended === undefined) return changed
  return { ...changed, output_text: (before.output_text ?? "").slice(0, output_offset ?? 0) + output_appended }
}

/** Events of a release before, and those of a start and an end, hold all fields. */
const isWhole = (event: ToolPayload | ToolUpdate): event is ToolPayload =>
  event.output_text !== undefined && event.state !== undefined && event.input !== undefined && event.diffs !== undefined
