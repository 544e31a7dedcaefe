import { field } from "@reins/base/domain/Field"
import { Media } from "@reins/machine/harness/AgentReport"
import { Schema } from "effect"

export const ToolPayload = Schema.Struct({
  tool_id: field(Schema.String, "The id of the call within its turn, as the agent gives it."),
  kind: field(Schema.String, "The agent's own word for the kind of tool, as in `edit` or `execute`."),
  title: field(Schema.String, "A title of the call, for people."),
  input: field(
    Schema.Unknown,
    "The input of the tool, as the agent gives it. An input above 65,536 characters is `{truncated}` with its start."
  ),
  state: field(
    Schema.Literal("pending", "running", "done", "failed", "aborted"),
    "Where the call stands. `aborted`: its turn ended first."
  ),
  output_text: field(Schema.NullOr(Schema.String), "The output of the tool, at most 65,536 characters; null for none."),
  diffs: field(
    Schema.Array(
      Schema.Struct({
        path: field(Schema.String, "The path, as the agent names it."),
        old_text: field(
          Schema.NullOr(Schema.String),
          "The text before, at most 65,536 characters; null for a new file."
        ),
        new_text: field(Schema.String, "The text after, at most 65,536 characters.")
      })
    ),
    "The files that the call changes."
  ),
  locations: field(
    Schema.Array(
      Schema.Struct({
        path: field(Schema.String, "The path, as the agent names it."),
        line: field(Schema.NullOr(Schema.Int), "The line, counted from 1; null for the whole file.")
      })
    ),
    "The places in files that the call is about, at most 100."
  ),
  media: field(Schema.Array(Media), "Images, sounds and files that the tool gives, at most 20."),
  truncated: field(Schema.Boolean, "True when a text of this payload was cut.")
}).annotations({
  identifier: "ToolPayload",
  description: "A tool call of the agent, whole."
})
export type ToolPayload = typeof ToolPayload.Type

const { tool_id, ...changing } = ToolPayload.fields

export const ToolUpdate = Schema.extend(
  Schema.Struct({
    tool_id,
    output_offset: field(
      Schema.optionalWith(Schema.Int, { exact: true }),
      "The length of the output that stays, in UTF-16 code units, as JavaScript counts. The rest is gone."
    ),
    output_appended: field(
      Schema.optionalWith(Schema.String, { exact: true }),
      "The output that follows at `output_offset`. Absent when the output is as before."
    )
  }),
  Schema.partialWith(Schema.Struct(changing), { exact: true })
).annotations({
  identifier: "ToolUpdate",
  description:
    "What has changed of a tool call. A field that is absent is as before. Output is told once: `output_appended` goes on at `output_offset`. Events of a release before hold the whole call, with its `output_text`."
})
export type ToolUpdate = typeof ToolUpdate.Type

/** The change that makes a call of what was told of it; the whole call when nothing was. */
export const changeOf = (before: ToolPayload | undefined, after: ToolPayload): ToolUpdate => {
  if (before === undefined) return after
  const { output_text: had, ...fieldsBefore } = before
  const { output_text: has, ...fieldsAfter } = after
  const known = new Map<string, unknown>(Object.entries(fieldsBefore))
  const changed = Object.entries(fieldsAfter).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(known.get(name))
  )
  const change = { tool_id: after.tool_id, ...Object.fromEntries(changed) }
  if (has === had) return change
  if (has === null) return { ...change, output_text: null }
  const offset = sharedLength(had ?? "", has)
  return { ...change, output_offset: offset, output_appended: has.slice(offset) }
}

/** The call after an event about it; undefined for a change of a call whose start is not known. */
export const foldTool = (before: ToolPayload | undefined, event: ToolUpdate): ToolPayload | undefined => {
  const { output_appended, output_offset, ...fields } = event
  const call = { ...before, ...fields }
  const output_text =
    output_appended === undefined
      ? call.output_text
      : (before?.output_text ?? "").slice(0, output_offset) + output_appended
  const whole = { ...call, output_text }
  return isWhole(whole) ? whole : undefined
}

const isWhole = Schema.is(ToolPayload)

/** The number of code units at the start that two texts share, with no half of a character at its end. */
const sharedLength = (left: string, right: string): number => {
  if (right.startsWith(left)) return left.length
  let length = 0
  while (length < left.length && left.charCodeAt(length) === right.charCodeAt(length)) length += 1
  return /[\ud800-\udbff]/.test(left[length - 1] ?? "") ? length - 1 : length
}
