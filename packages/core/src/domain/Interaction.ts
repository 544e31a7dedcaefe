import { Schema } from "effect"
import { field } from "./Field.js"
import { InteractionId, SessionId, TurnId } from "./Ids.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

export const InteractionState = Schema.Literal("pending", "answered", "expired", "cancelled").annotations({
  description: "A `pending` interaction waits for people. It ends with an answer, by the time, or with its turn."
})
export type InteractionState = typeof InteractionState.Type

/** The moves of an interaction, which `InteractionStore` makes. */
export const interactionStates = /* @__PURE__ */ StateMachine.make<InteractionState>("interaction", {
  pending: ["answered", "expired", "cancelled"],
  answered: [],
  expired: [],
  cancelled: []
})

export const InteractionKind = Schema.Literal("approval", "question").annotations({
  description: "An `approval` asks for leave to do something; a `question` asks anything else."
})
export type InteractionKind = typeof InteractionKind.Type

export const InteractionOption = Schema.Struct({
  id: field(Schema.String, "The id, which an answer names."),
  name: field(Schema.String, "The text for people, as in `Allow once`."),
  kind: field(Schema.String, "The agent's own word for it, as in `allow_once` or `reject_once`.")
}).annotations({ description: "One of the possible answers." })
export type InteractionOption = typeof InteractionOption.Type

export const Interaction = Schema.Struct({
  id: field(InteractionId, "The id of the interaction."),
  session_id: field(SessionId, "The session whose agent asks."),
  turn_id: field(TurnId, "The turn whose agent asks."),
  kind: field(InteractionKind, "What is asked for."),
  title: field(Schema.String, "What is asked, in a line."),
  description: field(Schema.NullOr(Schema.String), "What is asked, in full; null when the title says it all."),
  tool_id: field(
    Schema.NullOr(Schema.String),
    "The id of the tool call that it is about, as in the events `tool.*`; null for none."
  ),
  options: field(Schema.Array(InteractionOption), "The possible answers."),
  default: field(
    Schema.NullOr(Schema.String),
    "The option that is taken when nobody answers in time; it refuses. With null the agent is told that there is no answer."
  ),
  state: field(InteractionState, "Where the interaction stands."),
  answer: field(
    Schema.NullOr(Schema.String),
    "The option that was taken: the answer of a person, or the default after the time was over. Null until then."
  ),
  expires_at: field(Timestamp, "The time at which the default is taken."),
  created_at: field(Timestamp, "The time at which the agent asked."),
  resolved_at: field(Schema.NullOr(Timestamp), "The time at which it ended; null while it waits.")
}).annotations({ identifier: "Interaction", description: "A question of the agent of a running turn, and its answer." })
export type Interaction = typeof Interaction.Type
