import type { HookCondition, HookTrigger } from "./Automation.js"

// Owns how an automation looks at what came from outside. Nothing of either side is run: pointers name members, and values are compared.

const stepsOf = (pointer: string): ReadonlyArray<string> =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))

const isIndex = (step: string): boolean => /^(?:0|[1-9]\d{0,8})$/.test(step)

/** An own member of a value. Undefined for none. */
const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined

/** The value that a JSON pointer names; undefined for none. Only members of the value itself count. */
export const atPointer = (body: unknown, pointer: string): unknown => {
  let value = body
  for (const step of stepsOf(pointer)) {
    if (Array.isArray(value) && !isIndex(step)) return undefined
    value = memberOf(value, step)
  }
  return value
}

/** The values that a condition looks at. */
export interface Reached {
  readonly values: ReadonlyArray<unknown>
  /** True when the way led through a list, so that there may be any number of values. */
  readonly throughList: boolean
}

/**
 * The values that the pointer of a condition reaches, through each element of a list on the way. The order of a forge's list means nothing, so `*`
 * and a number stand for any element, and a name goes into all of them. Each part of the body is looked at once at most.
 */
export const reach = (body: unknown, pointer: string): Reached => reachBy(body, stepsOf(pointer))

const reachBy = (body: unknown, steps: ReadonlyArray<string>): Reached => {
  const values: Array<unknown> = []
  let throughList = false
  const go = (value: unknown, at: number): void => {
    const step = steps[at]
    if (value === undefined) return
    if (step === undefined) values.push(value)
    else if (Array.isArray(value)) {
      throughList = true
      const next = step === "*" || isIndex(step) ? at + 1 : at
      for (const element of value) go(element, next)
    } else go(memberOf(value, step), at + 1)
  }
  go(body, 0)
  return { values, throughList }
}

/** The values that a pick gives to the agent: one, or those of all elements where `*` stands for them. Undefined for none. */
export const pickAt = (body: unknown, pointer: string): unknown => {
  const value = atPointer(body, pointer)
  if (value !== undefined || !stepsOf(pointer).includes("*")) return value
  const { throughList, values } = reach(body, pointer)
  return throughList && values.length > 0 ? values : undefined
}

/** True when a condition holds for a body. */
export const holds = (condition: HookCondition, body: unknown): boolean => {
  const { exists, not, pointer } = condition
  const steps = stepsOf(pointer)
  const { values } = reachBy(body, steps)
  const before = valuesBefore(body, steps)
  const fits = fitsOf(condition)
  const isThere = exists === undefined || values.length > 0 === exists
  // A condition that says nothing more asks for a value.
  const isMet =
    fits === undefined
      ? isThere && (exists !== undefined || values.length > 0)
      : isThere && values.some(fits) && !before.some(fits)
  return isMet !== (not === true)
}

/** The comparison that a condition makes with each value; undefined for one that compares nothing. A value that is a list fits by an element. */
const fitsOf = ({ in: among, is, starts_with }: HookCondition): ((value: unknown) => boolean) | undefined => {
  if (is === undefined && among === undefined && starts_with === undefined) return undefined
  const fitsOne = (value: unknown): boolean =>
    (is === undefined || value === is) &&
    (among === undefined || among.some((one) => one === value)) &&
    (starts_with === undefined || (typeof value === "string" && value.startsWith(starts_with)))
  return (value) => (Array.isArray(value) ? value.some(fitsOne) : fitsOne(value))
}

/**
 * The values that stood before where a pointer leads to what GitLab says of a change. GitLab lists all that is there now beside all that was there before,
 * so a comparison with `/changes/labels/current` means a label that was not there before.
 */
const valuesBefore = (body: unknown, steps: ReadonlyArray<string>): ReadonlyArray<unknown> => {
  const [changes, field = "", current, ...rest] = steps
  if (changes !== "changes" || current !== "current") return []
  return reachBy(memberOf(memberOf(body, "changes"), field), ["previous", ...rest]).values
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
