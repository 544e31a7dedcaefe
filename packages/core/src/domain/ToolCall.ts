import { Schema } from "effect"
import { Media } from "./AgentReport.js"
import { field } from "./Field.js"

export const ToolPayload = Schema.Struct({
  tool_id: field(Schema.String, "The id of the call within its turn, as the agent gives it."),
  kind: field(Schema.String, "The agent's own word for the kind of tool, as in `edit` or `execute`."),
  title: field(Schema.String, "What the call does, for people."),
  input: field(
    Schema.Unknown,
    "The input of the tool, as the agent gives it. An input above 65,536 characters is `{truncated}` with its start."
  ),
  state: field(
    Schema.Literal("pending", "running", "done", "failed", "aborted"),
    "Where the call stands. `aborted`: its turn ended first."
  ),
  output_text: field(
    Schema.NullOr(Schema.String),
    "What the tool has put out, at most 65,536 characters; null for none."
  ),
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
  description: "A tool call of the agent. It is sent again, whole, with each change of it."
})
export type ToolPayload = typeof ToolPayload.Type
