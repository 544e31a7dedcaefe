import { field } from "@reins/base/domain/Field"
import { SessionId, ToolCallId, TurnId } from "@reins/base/domain/Ids"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"

export const ToolCallState = Schema.Literal(
  "running",
  "succeeded",
  "failed",
  "cancelled",
  "outcome_unknown"
).annotations({
  description:
    "`failed`: the agent got an error. `cancelled`: the agent withdrew the call, or its turn was cancelled. `outcome_unknown`: the turn ended before the call had an answer."
})
export type ToolCallState = typeof ToolCallState.Type

export const ToolCallRecord = Schema.Struct({
  id: field(ToolCallId, "The id of the call."),
  session_id: field(SessionId, "The session whose agent called."),
  turn_id: field(TurnId, "The turn that the agent worked on."),
  server: field(Schema.String, "The server of the tool; `reins` for the tools of the service."),
  tool: field(Schema.String, "The name that the server has for the tool."),
  call_id: field(Schema.String, "The agent's own id of the call."),
  key: field(
    Schema.NullOr(Schema.String),
    "The key under which the call takes effect once; null for a call that has none."
  ),
  input_digest: field(Schema.String, "SHA-256 of the input in canonical JSON."),
  state: field(ToolCallState, "What came of the call."),
  opened_at: field(Timestamp, "The time at which the call came."),
  ended_at: field(Schema.NullOr(Timestamp), "The time of its answer; null while there is none."),
  duration_ms: field(
    Schema.NullOr(Schema.Int),
    "The time from the call to its answer, in milliseconds; null while there is none."
  ),
  bytes: field(Schema.NullOr(Schema.Int), "The size of the answer in bytes; null while there is none."),
  result_digest: field(Schema.NullOr(Schema.String), "SHA-256 of the answer; null while there is none.")
}).annotations({
  identifier: "ToolCall",
  description:
    "A call of a tool of the service that an agent really made, as the service saw it. Contents are not kept here."
})
export type ToolCallRecord = typeof ToolCallRecord.Type
