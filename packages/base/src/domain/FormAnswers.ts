import type { FormContent, FormField } from "./Form.js"

/** A value that a form does not take, or the lack of one. */
export interface FormFault {
  /** Where it is, within the values. */
  readonly path: ReadonlyArray<string>
  readonly problem: string
}

/** The first fault of the values that are given to a form; undefined when it takes them. */
export const faultOf = (form: ReadonlyArray<FormField>, content: FormContent): FormFault | undefined => {
  const unknown = Object.keys(content).find((name) => !form.some((field) => field.name === name))
  if (unknown !== undefined) return { path: [unknown], problem: "it has no field of this name" }
  for (const field of form) {
    const value = Object.hasOwn(content, field.name) ? content[field.name] : undefined
    const problem =
      value === undefined ? (field.required ? "the field is required" : undefined) : problemOf(field, value)
    if (problem !== undefined) return { path: [field.name], problem }
  }
  return undefined
}

const problemOf = (field: FormField, value: FormContent[string]): string | undefined => {
  const { choices, type } = field
  const isChoice = (given: string) => choices.length === 0 || choices.some((choice) => choice.value === given)
  switch (type) {
    case "boolean":
      return typeof value === "boolean" ? undefined : "it takes true or false"
    case "text":
      return typeof value === "string" ? outside(field, value.length, "characters") : "it takes a text"
    case "choice":
      return typeof value === "string" && isChoice(value) ? undefined : "it takes one of its choices"
    case "choices":
      return Array.isArray(value) && value.every(isChoice)
        ? outside(field, value.length, "choices")
        : "it takes a list of its choices"
    case "integer":
    case "number":
      if (typeof value !== "number") return "it takes a number"
      return type === "integer" && !Number.isInteger(value) ? "it takes a whole number" : outside(field, value, "")
  }
}

const outside = ({ maximum, minimum }: FormField, size: number, unit: string): string | undefined => {
  if (minimum !== null && size < minimum) return `it takes ${minimum} ${unit} at least`.replace("  ", " ")
  return maximum !== null && size > maximum ? `it takes ${maximum} ${unit} at most`.replace("  ", " ") : undefined
}
