import { hash } from "node:crypto"
import { canonicalJson } from "@reins/base/base/CanonicalJson"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { cutText } from "@reins/base/base/CutText"
import type { FormField } from "@reins/base/domain/Form"
import { Effect, Layer, Schema } from "effect"
import type { KeptCall } from "../sessions/questions/ToolCallStore.js"
import type { Interaction } from "../sessions/rows/Interaction.js"
import { makeAskOutside, numbered } from "./AskOutside.js"
import { makeTool, ToolFailed } from "./Tool.js"
import { ToolSources } from "./ToolSources.js"

/** Lets agents ask a person. The turn waits for the answer as it does for every other question. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const sources = yield* ToolSources
    const tool = yield* askUserTool
    yield* sources.register({ toolsOf: () => Effect.succeed([tool]) })
  })
)

const textOf = (description: string, longest: number) =>
  Schema.String.pipe(Schema.minLength(1), Schema.maxLength(longest)).annotations({ description })
const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })
const isUnique = (values: ReadonlyArray<string>) => new Set(values).size === values.length

const Choices = Schema.Array(textOf("A possible answer.", 200)).pipe(
  Schema.minItems(1),
  Schema.maxItems(20),
  Schema.filter(isUnique, { message: () => "Input should name each answer once" })
)

const AskedField = Schema.Struct({
  name: Schema.String.pipe(Schema.pattern(/^[A-Za-z][A-Za-z0-9_]{0,39}$/)).annotations({
    description: "The name of the value in the answer: a letter, then letters, digits and _."
  }),
  title: optional(textOf("The label for the person; the name when absent.", 200)),
  description: optional(textOf("What belongs there.", 1000)),
  type: Schema.Literal("text", "number", "integer", "boolean", "choice", "choices").annotations({
    description: "choice takes one of the choices, choices a list of them."
  }),
  choices: optional(Choices.annotations({ description: "The values of choice and choices." })),
  required: optional(
    Schema.Boolean.annotations({ description: "True when the person has to give it; true when absent." })
  )
}).pipe(
  Schema.filter(({ choices, type }) => (choices !== undefined) === (type === "choice" || type === "choices"), {
    message: () => "The types choice and choices have choices, and no other type has any"
  })
)

const Fields = Schema.Array(AskedField).pipe(
  Schema.minItems(1),
  Schema.maxItems(20),
  Schema.filter((fields) => isUnique(fields.map(({ name }) => name)), {
    message: () => "Input should name each value once"
  })
)

const AskUserInput = Schema.Struct({
  question: textOf("What you want to know. Say what hangs on it: the person may not have followed the work.", 10_000),
  options: optional(Choices.annotations({ description: "The answers to choose from." })),
  form: optional(Fields.annotations({ description: "The values to ask for, in the place of options." }))
}).pipe(
  Schema.filter(({ form, options }) => form === undefined || options === undefined, {
    message: () => "Give options or a form, and not both"
  })
)
type AskUserInput = typeof AskUserInput.Type

/** The most characters of the line that a question is listed under. */
const titleLength = 200

const askUserTool = Effect.gen(function* () {
  const { interactionExpiryMs, turnDeadlineMs } = yield* CoreConfig
  const askOutside = yield* makeAskOutside
  return makeTool({
    name: "ask_user",
    description:
      "Asks a person a question and waits for the answer. Ask where a wrong guess costs more than waiting. " +
      "Give options to choose from, or a form for values; without either the person answers in words.",
    is_read_only: false,
    isKept: true,
    input: AskUserInput,
    keyOf: (turn, input) =>
      numbered(turn, `ask_user:${turn.rootTurnId}:${hash("sha256", canonicalJson(input), "hex")}`),
    run: (turn, input, { callId, key }) =>
      Effect.flatMap(
        askOutside(turn, {
          ...questionOf(input),
          key: key ?? callId,
          deadlineMs: Math.min(interactionExpiryMs, turnDeadlineMs)
        }),
        answerOf
      )
  })
})

const questionOf = ({ form, options, question }: AskUserInput): Omit<KeptCall, "key" | "deadlineMs"> => {
  const line = question.trim().split("\n")[0] ?? ""
  const about = {
    title: cutText(line, titleLength) || "The agent asks",
    description: question.includes("\n") || line.length > titleLength ? question : null,
    tool: null
  }
  if (options === undefined)
    return { ...about, kind: "form", options: formOptions, form: form?.map(fieldOf) ?? [inWords] }
  const choices = options.map((name, index) => ({ id: String(index + 1), name, kind: "choice" }))
  return { ...about, kind: "question", options: choices, form: null }
}

const formOptions: Interaction["options"] = [
  { id: "accept", name: "Submit", kind: "accept" },
  { id: "decline", name: "Decline", kind: "decline" }
]

const fieldOf = ({ choices = [], description, name, required, title, type }: typeof AskedField.Type): FormField => ({
  name,
  title: title ?? name,
  description: description ?? null,
  type,
  required: required ?? true,
  choices: choices.map((value) => ({ value, title: value })),
  default: null,
  minimum: null,
  maximum: null,
  format: null
})

/** The field of a question that is answered in words. */
const inWords = fieldOf({ name: "answer", title: "Answer", type: "text" })

const answerOf = ({ answer, content, note, options, state }: Interaction) => {
  if (state === "expired")
    return new ToolFailed({ message: "Nobody answered in time. Go on without the answer, and say what you assumed." })
  if (state !== "answered") return new ToolFailed({ message: "The question was withdrawn." })
  const chosen = options.find(({ id }) => id === answer)
  const said = note !== null && { note }
  if (chosen?.kind === "decline") return Effect.succeed({ declined: true, ...said })
  return Effect.succeed(
    chosen?.kind === "accept" ? { ...content, ...said } : { answer: chosen?.name ?? answer, ...said }
  )
}
