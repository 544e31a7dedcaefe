import type { FormField } from "@reins/client"
import { choiceOf } from "./Asking.js"
import { booleanIn, isNothing, listOf, numberIn } from "./Input.js"

type Content = Readonly<Record<string, string | number | boolean | ReadonlyArray<string>>>

/** The values of a form as its fields have them, where another form of a value says the same. The API names any other. */
export const contentFor = (fields: ReadonlyArray<FormField>, given: Readonly<Record<string, unknown>>): Content => {
  const content = Object.entries(given).flatMap(([name, value]) => {
    const field = fields.find((each) => each.name === name)
    if (field === undefined) return [[name, value]]
    return isNothing(value) && !field.required ? [] : [[name, valueFor(field, value)]]
  })
  // Boundary: the API checks the values.
  return Object.fromEntries(content) as Content
}

const valueFor = ({ choices, type }: FormField, value: unknown): unknown => {
  const listed = choices.map((choice) => ({ id: choice.value, name: choice.title }))
  const meant = (one: unknown) => choiceOf(one, listed)?.id ?? one
  switch (type) {
    case "text":
      return typeof value === "number" || typeof value === "boolean" ? String(value) : value
    case "number":
    case "integer":
      return typeof value === "string" ? numberIn(value) : value
    case "boolean":
      return booleanIn(value)
    case "choice":
      return meant(Array.isArray(value) && value.length === 1 ? value[0] : value)
    case "choices": {
      const list = listOf(value)
      return Array.isArray(list) ? list.map(meant) : list
    }
  }
}
