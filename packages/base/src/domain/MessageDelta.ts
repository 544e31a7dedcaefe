import { Schema } from "effect"
import { field } from "./Field.js"
import { MessageId, SessionId, TurnId } from "./Ids.js"

export const MessageDelta = Schema.Struct({
  session_id: field(SessionId, "The session whose agent speaks."),
  turn_id: field(TurnId, "The turn whose agent speaks."),
  message_id: field(MessageId, "The message that the agent is writing."),
  part_key: field(Schema.String, "The part that the words belong to."),
  kind: field(Schema.Literal("text", "reasoning"), "What the part is."),
  offset: field(
    Schema.Int,
    "The number of characters of the part that come before, so that a reader can leave out those that it has from the log."
  ),
  text: field(Schema.String, "The words.")
}).annotations({
  identifier: "MessageDelta",
  description:
    "Words of a part as the agent says them, sent before they are in the log and never kept. Some deltas may be missing."
})
export type MessageDelta = typeof MessageDelta.Type
