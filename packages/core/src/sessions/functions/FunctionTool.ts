import { optional } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"
import { OwnTool, ToolSelection } from "../../projects/Project.js"
import { ResultSchema } from "../rows/TurnResult.js"

/** The most functions of one list. Model gateways refuse more than 128 tools, and the agent has tools of its own. */
const maxFunctions = 50

/** The names of tools that the service has or keeps for itself. */
const keptNames: ReadonlyArray<string> = [...OwnTool.literals, "await_call"]

const FunctionName = Schema.String.pipe(
  Schema.pattern(/^[A-Za-z][A-Za-z0-9_-]{0,47}$/),
  Schema.filter((name) => !keptNames.includes(name), {
    message: () => `Input is the name of a tool of the service, as are ${keptNames.join(", ")}`
  })
)

export const FunctionTool = Schema.Struct({
  name: field(FunctionName, "Its name: a letter, then at most 47 letters, digits, `_` and `-`."),
  description: field(
    Schema.String.pipe(Schema.minLength(1), Schema.maxLength(4000)),
    "The words that tell the model when to call it and what it gives, at most 4,000 characters."
  ),
  input_schema: field(
    ResultSchema.pipe(
      Schema.filter(({ type }) => type === "object", { message: () => 'Input should have the type "object"' })
    ),
    "The schema of its input, of the type `object`, at most 64 KiB. An input that does not fit goes back to the model."
  ),
  deadline_seconds: field(
    optional(Schema.Int.pipe(Schema.between(1, 86_400))),
    "The time for an answer to one call, in seconds; 600 when absent. It is the time limit of the turn at most."
  )
}).annotations({
  identifier: "FunctionTool",
  description: "A function of a caller that agents call. Each call is an interaction of the kind `tool_call`."
})
export type FunctionTool = typeof FunctionTool.Type

const Functions = Schema.Array(FunctionTool).pipe(
  Schema.maxItems(maxFunctions),
  Schema.filter((functions) => new Set(functions.map(({ name }) => name)).size === functions.length, {
    message: () => "Input should name each function once"
  })
)

export const SessionTools = Schema.Struct({
  ...ToolSelection.fields,
  functions: field(optional(Functions), "The functions of a caller that the agent is offered, at most 50.")
}).annotations({ identifier: "SessionTools", description: "The tools that the agent of a session is offered." })
export type SessionTools = typeof SessionTools.Type

export const MessageTools = Schema.Struct({
  functions: field(
    Functions,
    "The functions of a caller that the agent is offered in the turn of the message, at most 50. One with the name of a function of the session takes its place."
  )
}).annotations({ identifier: "MessageTools", description: "The tools that a message adds to those of its session." })
export type MessageTools = typeof MessageTools.Type
