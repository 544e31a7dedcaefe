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

export const InteractionKind = Schema.Literal("approval", "question", "form", "link", "budget").annotations({
  description:
    "An `approval` asks for leave to do something; a `form` asks for values; a `link` asks somebody to visit a page; a `question` asks anything else. With `budget` it is the service that asks, because a budget is used up: the turn goes on by itself when that is raised."
})
export type InteractionKind = typeof InteractionKind.Type

export const InteractionOption = Schema.Struct({
  id: field(Schema.String, "The id, which an answer names."),
  name: field(Schema.String, "The text for people, as in `Allow once`."),
  kind: field(Schema.String, "The agent's own word for it, as in `allow_once` or `reject_once`.")
}).annotations({ description: "One of the possible answers." })
export type InteractionOption = typeof InteractionOption.Type

const FormValue = Schema.Union(Schema.String, Schema.Number, Schema.Boolean, Schema.Array(Schema.String))

export const FormField = Schema.Struct({
  name: field(Schema.String, "The name, which the content of an answer uses."),
  title: field(Schema.String, "The label for people."),
  description: field(Schema.NullOr(Schema.String), "What belongs there; null when the title says it all."),
  type: field(
    Schema.Literal("text", "number", "integer", "boolean", "choice", "choices"),
    "`choice` takes one of the choices, `choices` a list of them."
  ),
  required: field(Schema.Boolean, "True when an answer without it is refused."),
  choices: field(
    Schema.Array(
      Schema.Struct({
        value: field(Schema.String, "The value to answer."),
        title: field(Schema.String, "The text for people.")
      })
    ),
    "The values of `choice` and `choices`; empty for the other types."
  ),
  default: field(Schema.NullOr(FormValue), "What to offer at first; null for nothing."),
  minimum: field(
    Schema.NullOr(Schema.Number),
    "The least: of a text its length, of `choices` their number, of a number itself; null for none."
  ),
  maximum: field(Schema.NullOr(Schema.Number), "The most, in the same way; null for none."),
  format: field(
    Schema.NullOr(Schema.String),
    "The agent's word for the form of a text, as in `email`, `uri` or `date`, which is not checked; null for none."
  )
}).annotations({ identifier: "FormField", description: "A value that a form asks for." })
export type FormField = typeof FormField.Type

export const FormContent = Schema.Record({ key: Schema.String, value: FormValue }).annotations({
  description: "The values of a form, by the names of its fields."
})
export type FormContent = typeof FormContent.Type

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
  budget_of: field(
    Schema.NullOr(Schema.String),
    "The id of the turn, session, API key or workspace whose budget is used up, for the kind `budget`; null for other kinds."
  ),
  options: field(Schema.Array(InteractionOption), "The possible answers."),
  form: field(
    Schema.NullOr(Schema.Array(FormField)),
    "The values that a `form` asks for: an answer with the option of the kind `accept` has them as its `content`. Null for other kinds."
  ),
  url: field(Schema.NullOr(Schema.String), "The page of a `link`; null for other kinds."),
  default: field(
    Schema.NullOr(Schema.String),
    "The option that is taken when nobody answers in time; it refuses. With null the agent is told that there is no answer."
  ),
  state: field(InteractionState, "Where the interaction stands."),
  answer: field(
    Schema.NullOr(Schema.String),
    "The option that was taken: the answer of a person, or the default after the time was over. Null until then."
  ),
  note: field(Schema.NullOr(Schema.String), "What the answer tells the agent beside it; null for nothing."),
  content: field(Schema.NullOr(FormContent), "The values that were given to a form; null for none."),
  expires_at: field(Timestamp, "The time at which the default is taken."),
  created_at: field(Timestamp, "The time at which the agent asked."),
  resolved_at: field(Schema.NullOr(Timestamp), "The time at which it ended; null while it waits.")
}).annotations({ identifier: "Interaction", description: "A question of the agent of a running turn, and its answer." })
export type Interaction = typeof Interaction.Type
