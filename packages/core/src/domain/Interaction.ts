import { Schema } from "effect"
import { InteractionId, SessionId, TurnId } from "./Ids.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

/** A `pending` interaction waits for people. It ends with an answer, by the time, or with its turn. */
export const InteractionState = Schema.Literal("pending", "answered", "expired", "cancelled")
export type InteractionState = typeof InteractionState.Type

/** The moves of an interaction, which `InteractionStore` makes. */
export const interactionStates = /* @__PURE__ */ StateMachine.make<InteractionState>("interaction", {
  pending: ["answered", "expired", "cancelled"],
  answered: [],
  expired: [],
  cancelled: []
})

/** An `approval` asks for leave to do something; a `question` asks anything else. */
export const InteractionKind = Schema.Literal("approval", "question")
export type InteractionKind = typeof InteractionKind.Type

/** One of the possible answers. `kind` is the agent's own word for it, as in `allow_once` or `reject_once`. */
export const InteractionOption = Schema.Struct({ id: Schema.String, name: Schema.String, kind: Schema.String })
export type InteractionOption = typeof InteractionOption.Type

/** A question of the agent of a running turn, and its answer. */
export const Interaction = Schema.Struct({
  id: InteractionId,
  session_id: SessionId,
  turn_id: TurnId,
  kind: InteractionKind,
  title: Schema.String,
  description: Schema.NullOr(Schema.String),
  /** The id of the tool call that it is about, as in the events `tool.*`; null for none. */
  tool_id: Schema.NullOr(Schema.String),
  options: Schema.Array(InteractionOption),
  /** The option that is taken when nobody answers in time; it refuses. With null the agent is told that there is no answer. */
  default: Schema.NullOr(Schema.String),
  state: InteractionState,
  /** The option that was taken: the answer of a person, or the default after the time was over. */
  answer: Schema.NullOr(Schema.String),
  expires_at: Timestamp,
  created_at: Timestamp,
  resolved_at: Schema.NullOr(Timestamp)
}).annotations({ identifier: "Interaction" })
export type Interaction = typeof Interaction.Type
