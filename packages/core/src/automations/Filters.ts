import type { HookCondition, HookTrigger } from "./Automation.js"

// Owns how an automation looks at what came from outside. Nothing of either side is run: pointers name members, and values are compared.

/** The value that a JSON pointer names; undefined for none. Only members of the value itself count. */
export const atPointer = (body: unknown, pointer: string): unknown => {
  let value = body
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~")
    if (typeof value !== "object" || value === null) return undefined
    if (Array.isArray(value) && !/^(?:0|[1-9]\d{0,8})$/.test(name)) return undefined
    if (!Object.hasOwn(value, name)) return undefined
    value = Object.getOwnPropertyDescriptor(value, name)?.value
  }
  return value
}

/** True when a condition holds for a body. */
export const holds = ({ exists, in: among, is, not, pointer, starts_with }: HookCondition, body: unknown): boolean => {
  const value = atPointer(body, pointer)
  const says = [
    ...(exists === undefined ? [] : [(value !== undefined) === exists]),
    ...(is === undefined ? [] : [value === is]),
    ...(among === undefined ? [] : [among.some((one) => one === value)]),
    ...(starts_with === undefined ? [] : [typeof value === "string" && value.startsWith(starts_with)])
  ]
  // A condition that says nothing more asks for a value.
  const isMet = says.length === 0 ? value !== undefined : says.every((one) => one)
  return isMet !== (not === true)
}

/** The number of an issue that a JSON pointer names; null for anything else. */
export const issueAt = (pointer: string, body: unknown): number | null => {
  const value = atPointer(body, pointer)
  return typeof value === "number" && Number.isInteger(value) && value > 0 && value < 2 ** 31 ? value : null
}

/** True when a call of a hook is one that the trigger wants. */
export const wants = (
  { events, filter }: Pick<HookTrigger, "events" | "filter">,
  { body, event }: { readonly event: string | null; readonly body: unknown }
): boolean =>
  (events === undefined || (event !== null && events.includes(event))) &&
  (filter ?? []).every((condition) => holds(condition, body))
