import type { FormContent, FormField } from "@reins/base/domain/Form"
import { faultOf } from "@reins/base/domain/FormAnswers"
import { tell } from "../terminal/Output.js"
import { ask } from "../terminal/Prompts.js"
import { harmless } from "../terminal/Style.js"

type Value = FormContent[string]

/**
 * Asks for the values of a form, one field after the other, and again until the form takes them. What is left empty and not required is left
 * out. Throws `Aborted` for Ctrl-C, and when the signal comes.
 */
export const valuesOf = async (form: ReadonlyArray<FormField>, signal: AbortSignal): Promise<FormContent> => {
  const content: Record<string, Value> = {}
  for (const field of form) {
    const value = await valueOf(field, signal)
    if (value !== undefined) content[field.name] = value
  }
  return content
}

const valueOf = async (field: FormField, signal: AbortSignal): Promise<Value | undefined> => {
  const { choices, required, type } = field
  const message = titleOf(field)
  const fault = (value: Value) => faultOf([field], { [field.name]: value })?.problem
  const options = choices.map(({ title, value }) => ({ value, label: harmless(title) }))
  if (type === "boolean") return ask.confirmation(message, field.default === true, { signal })
  if (type === "choices" && options.length > 0) {
    let initial: ReadonlyArray<string> = Array.isArray(field.default) ? field.default : []
    for (;;) {
      initial = await ask.choices(message, options, { initial, signal })
      if (initial.length === 0 && !required) return undefined
      const problem = fault(initial)
      if (problem === undefined) return initial
      tell(`${harmless(field.title)}: ${problem}`)
    }
  }
  if (type === "choice" && options.length > 0) {
    const initial = typeof field.default === "string" ? { initial: field.default } : {}
    const all = required ? options : [...options, { value: nothing, label: "(leave it out)" }]
    const taken = await ask.choice(message, all, { ...initial, signal })
    return taken === nothing ? undefined : taken
  }
  const read = (text: string): Value => readOf(type, text.trim())
  const text = await ask.text(message, written(field.default), {
    fault: (text) => (text.trim() === "" ? (required ? "It cannot be empty." : undefined) : fault(read(text))),
    signal
  })
  return text === "" ? undefined : read(text)
}

/** No choice of an agent is empty for a person, so this one is told apart. */
const nothing = ""

/** A list without choices is written with commas. */
const readOf = (type: FormField["type"], text: string): Value => {
  if (type === "choices") return text.split(",").map((each) => each.trim())
  return type === "number" || type === "integer" ? Number(text) : text
}

const written = (value: FormField["default"]): string =>
  value === null ? "" : Array.isArray(value) ? value.join(", ") : String(value)

const titleOf = ({ description, required, title, type }: FormField): string => {
  const about = description === null ? "" : ` - ${harmless(description)}`
  return `${harmless(title)}${about} (${type === "text" ? "" : `${words[type]}, `}${required ? "required" : "optional"})`
}

const words: Readonly<Record<Exclude<FormField["type"], "text">, string>> = {
  number: "a number",
  integer: "a whole number",
  boolean: "yes or no",
  choice: "one of them",
  choices: "any of them"
}
