import { Schema } from "effect"
import { field } from "./Field.js"

export const InteractionKind = Schema.Literal(
  "approval",
  "question",
  "form",
  "link",
  "budget",
  "tool_call"
).annotations({
  description:
    "An `approval` asks for leave to do something; a `form` asks for values; a `link` asks somebody to visit a page; a `question` asks anything else. With `budget` it is the service that asks, because a budget is used up: the turn goes on by itself when that is raised. A `tool_call` is a call of a function that a program answers."
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
