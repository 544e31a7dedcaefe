import type * as acp from "@agentclientprotocol/sdk/unstable"
import { cutText } from "@reins/base/base/CutText"
import { adorns, ForeignName, foreignName } from "@reins/base/base/ForeignText"
import type { FormField } from "@reins/base/domain/Form"
import { Option, Schema } from "effect"
import type { Asked } from "../HarnessEvent.js"
import type { QuestionAnswer } from "../TurnInput.js"
import type { ElicitationRequest } from "./AcpSchema.js"

const titleLength = 1000
const descriptionLength = 4000
const maxFields = 100
const maxChoices = 500

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))
const Name = ForeignName(titleLength)
const Choice = Schema.Struct({ const: Schema.String, title: adorns(Name) })
const Items = Schema.Struct({ enum: optional(Schema.Array(Schema.String)), anyOf: optional(Schema.Array(Choice)) })

/** A property of a form. What is checked of it is a length, a number or a choice. */
const Property = Schema.Struct({
  type: Schema.Literal("string", "number", "integer", "boolean", "array"),
  title: adorns(Name),
  description: adorns(Schema.String),
  default: optional(Schema.Union(Schema.String, Schema.JsonNumber, Schema.Boolean, Schema.Array(Schema.String))),
  format: optional(Schema.String),
  enum: optional(Schema.Array(Schema.String)),
  oneOf: optional(Schema.Array(Choice)),
  items: optional(Items),
  minLength: optional(Schema.JsonNumber),
  maxLength: optional(Schema.JsonNumber),
  minimum: optional(Schema.JsonNumber),
  maximum: optional(Schema.JsonNumber),
  minItems: optional(Schema.JsonNumber),
  maxItems: optional(Schema.JsonNumber)
})
type Property = typeof Property.Type

const Form = Schema.Struct({
  properties: optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  required: optional(Schema.Array(Schema.String))
})

const decodeForm = Schema.decodeUnknownOption(Form)
const decodeProperty = Schema.decodeUnknownOption(Property)

const choicesOf = ({ enum: plain, items, oneOf }: Property): FormField["choices"] => {
  const values = plain ?? items?.enum ?? []
  const titled = oneOf ?? items?.anyOf ?? []
  return [
    ...titled.map((choice) => ({ value: choice.const, title: choice.title ?? choice.const })),
    ...values.map((value) => ({ value, title: value }))
  ].slice(0, maxChoices)
}

const typeOf = (property: Property, choices: FormField["choices"]): FormField["type"] => {
  if (property.type === "array") return "choices"
  if (property.type !== "string") return property.type
  return choices.length > 0 ? "choice" : "text"
}

/** The fields of a form. None when it requires a field of a kind that is not known, since no answer could be right. */
const fieldsOf = (schema: unknown): Option.Option<ReadonlyArray<FormField>> => {
  const form = decodeForm(schema)
  if (Option.isNone(form)) return Option.none()
  const entries = Object.entries(form.value.properties ?? {}).slice(0, maxFields)
  const fields: Array<FormField> = []
  for (const [name, given] of entries) {
    const required = form.value.required?.includes(name) ?? false
    const property = decodeProperty(given)
    if (Option.isSome(property)) fields.push(fieldOf(name, required, property.value))
    else if (required) return Option.none()
  }
  return Option.some(fields)
}

const fieldOf = (name: string, required: boolean, property: Property): FormField => {
  const choices = choicesOf(property)
  return {
    name,
    title: property.title || foreignName(name, titleLength),
    description: property.description === null ? null : cutText(property.description, descriptionLength),
    type: typeOf(property, choices),
    required,
    choices,
    default: property.default ?? null,
    minimum: property.minLength ?? property.minimum ?? property.minItems ?? null,
    maximum: property.maxLength ?? property.maximum ?? property.maxItems ?? null,
    format: property.format ?? null
  }
}

const options = (accept: string): Asked["options"] => [
  { id: "accept", name: accept, kind: "accept" },
  { id: "decline", name: "Decline", kind: "decline" }
]

/** The question for a person. None for a kind of input that is not known, or a page that no browser opens safely. */
export const elicitationQuestion = (requestId: string, request: ElicitationRequest): Option.Option<Asked> => {
  const { message, mode, requestedSchema, toolCallId, url } = request
  const about: Omit<Asked, "kind" | "options" | "form" | "url"> = {
    _tag: "asked",
    request_id: requestId,
    title: foreignName(message.trim().split("\n")[0] ?? "", titleLength) || "The agent asks",
    description: message.includes("\n") || message.length > titleLength ? cutText(message, descriptionLength) : null,
    tool_id: typeof toolCallId === "string" ? toolCallId : null,
    default: "decline"
  }
  if (mode === "form")
    return Option.map(fieldsOf(requestedSchema), (form) => ({
      ...about,
      kind: "form",
      options: options("Submit"),
      form,
      url: null
    }))
  const page = mode === "url" && typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined
  return page === undefined || !["http:", "https:"].includes(page.protocol)
    ? Option.none()
    : Option.some({ ...about, kind: "link", options: options("Open"), form: null, url: page.href })
}

export const declined: { readonly result: acp.CreateElicitationResponse } = { result: { action: "decline" } }

/** The answer to the agent. */
export const elicitationResponse = (
  answer: QuestionAnswer | null
): { readonly result: acp.CreateElicitationResponse } => {
  if (answer === null) return { result: { action: "cancel" } }
  if (answer.option !== "accept") return declined
  return {
    result: { action: "accept", ...(answer.content !== null && { content: mutable(answer.content) }) }
  }
}

const mutable = (content: NonNullable<QuestionAnswer["content"]>) =>
  Object.fromEntries(
    Object.entries(content).map(([name, value]) => [name, typeof value === "object" ? [...value] : value])
  )
