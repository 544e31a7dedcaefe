import type { Answer, Change, ChangeKind, Path } from "./Answer.js"

// The one list of changes that the answers of every counterpart go through. A border says where its list stands and which fields it reads.

const alphabets = "名前 ÄÖÜ имя اسم 🙂"
const turned = "\u202egnihsilbup\u202c\u0007\u001b[31m"

type Json = null | boolean | number | string | ReadonlyArray<unknown> | { readonly [field: string]: unknown }

const isObject = (value: unknown): value is { [field: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The value with the one at a path exchanged. A field whose new value is undefined goes. A path that leads nowhere is a fault of the border. */
const replaceAt = (value: unknown, path: Path, edit: (value: unknown) => unknown): unknown => {
  const [step, ...rest] = path
  if (step === undefined) return edit(value)
  if (Array.isArray(value) && typeof step === "number")
    return value.map((element, at) => (at === step ? replaceAt(element, rest, edit) : element))
  if (isObject(value) && typeof step === "string") return { ...value, [step]: replaceAt(value[step], rest, edit) }
  throw new Error(`There is no ${JSON.stringify(path)} in ${JSON.stringify(value)?.slice(0, 200)}`)
}

const inJson =
  (edit: (json: unknown) => unknown) =>
  (answer: Answer): Answer => ({ ...answer, text: JSON.stringify(edit(JSON.parse(answer.text))) })

const change = (name: string, kind: ChangeKind, apply: Change["apply"]): Change => ({ name, kind, apply })

const onText = (edit: (text: string) => unknown) => (value: unknown) =>
  typeof value === "string" ? edit(value) : value

const otherType = (value: unknown): Json => (typeof value === "string" ? 7 : isObject(value) ? "text" : { a: 1 })

const respelled = (value: unknown): Json =>
  typeof value === "number" ? String(value) : typeof value === "string" ? [value] : []

const ways: ReadonlyArray<readonly [name: string, edit: (value: unknown) => unknown]> = [
  ["absent", () => undefined],
  ["null", () => null],
  ['""', () => ""],
  ["of another type", otherType],
  ["a number as text, or in a list", respelled],
  ["an unknown word", (value) => (typeof value === "string" ? "word_of_tomorrow" : [{ tomorrow: 1 }])],
  ["in capitals", onText((text) => text.toUpperCase())],
  ["of 100,000 characters", onText(() => "a.".repeat(50_000))],
  ["of all alphabets", onText(() => alphabets)],
  ["with control and turned characters", onText((text) => text + turned)],
  // A database takes neither.
  ["with a NUL and half a character", onText((text) => `${text}\u0000\ud800`)]
]

/** The paths of all fields of a value, and of those within them. Lists count as a whole. */
export const pathsIn = (value: unknown, path: Path = []): ReadonlyArray<Path> =>
  isObject(value)
    ? Object.entries(value).flatMap(([field, inner]) => [[...path, field], ...pathsIn(inner, [...path, field])])
    : []

/** The changes of one field, which `path` leads to. Only an element of a list may be lost by them unless `kind` says otherwise. */
export const changesOfField = (path: Path, kind: ChangeKind = "element"): ReadonlyArray<Change> =>
  ways.map(([way, edit]) =>
    change(
      `${path.filter((step) => typeof step === "string").join(".")} ${way}`,
      kind,
      inJson((json) => replaceAt(json, path, edit))
    )
  )

/** The steps of a field of a field, which is written with dots. Digits are a place in a list. */
export const stepsOf = (field: string): Path =>
  field.split(".").map((step) => (/^\d+$/.test(step) ? Number(step) : step))

/** The changes of the element at a place of a list, for each field that is read of it. A field of a field is written with a dot. */
export const changesOfElement = (list: Path, at: number, fields: ReadonlyArray<string>): ReadonlyArray<Change> => {
  const element = [...list, at]
  const whole = (name: string, edit: (value: unknown) => unknown) =>
    change(
      `the element ${name}`,
      "element",
      inJson((json) => replaceAt(json, element, edit))
    )
  return [
    ...fields.flatMap((field) =>
      ways.map(([way, edit]) =>
        change(
          `${field} ${way}`,
          "element",
          inJson((json) => replaceAt(json, [...element, ...stepsOf(field)], edit))
        )
      )
    ),
    whole("is null", () => null),
    whole("is a text", () => "x"),
    whole("is an empty object", () => ({})),
    whole("is a list", () => []),
    whole("has ten more fields", (value) => ({
      ...(isObject(value) ? value : {}),
      ...Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`later_${index}`, { deep: [index] }]))
    }))
  ]
}

const json = { "content-type": "application/json" }

const statuses: ReadonlyArray<readonly [status: number, message: string]> = [
  [307, "Moved"],
  [403, "Forbidden"],
  [404, "Not found"],
  [409, "Conflict"],
  [422, "Not processable"],
  [429, "Too many requests"],
  [500, "Fault"],
  [502, "Bad gateway"],
  [503, "Unavailable"]
]

/** The changes of a whole answer with a list, to which `list` leads. */
export const changesOfAnswer = (list: Path): ReadonlyArray<Change> => {
  const onList = (edit: (values: ReadonlyArray<unknown>) => unknown) =>
    inJson((value) =>
      replaceAt(value, list, (found) => {
        if (!Array.isArray(found)) throw new Error(`There is no list at ${JSON.stringify(list)}`)
        return edit(found)
      })
    )
  const elsewhere = { location: "http://127.0.0.1:9/elsewhere" }
  return [
    change(
      "the list in another order",
      "same",
      onList((values) => values.toReversed())
    ),
    change(
      "each element twice",
      "same",
      onList((values) => [...values, ...values])
    ),
    change("in two halves, 80 ms between", "same", (answer) => ({ ...answer, pauseMs: 80 })),
    change("late", "same", (answer) => ({ ...answer, delayMs: 400 })),
    change("with a byte order mark", "same", (answer) => ({ ...answer, text: `\ufeff${answer.text}` })),
    change("with spaces around", "same", (answer) => ({ ...answer, text: `\r\n ${answer.text}\n` })),
    change("a type with a character set", "same", (answer) => ({
      ...answer,
      headers: { ...answer.headers, "content-type": "application/json; charset=UTF-8" }
    })),
    change("without a type", "same", (answer) => ({ ...answer, headers: {}, pauseMs: 1 })),
    change("cut off in its middle", "lost", (answer) => ({ ...answer, cut: 0.5 })),
    change("an empty body", "lost", (answer) => ({ ...answer, text: "" })),
    change("a page of HTML with 200", "lost", (answer) => ({
      ...answer,
      headers: { "content-type": "text/html" },
      text: "<html><title>Sign in</title></html>"
    })),
    change("null", "lost", (answer) => ({ ...answer, text: "null" })),
    change(
      "the list is null",
      "lost",
      onList(() => null)
    ),
    change(
      "the list is an object",
      "lost",
      onList(() => ({}))
    ),
    change("errors within 200", "lost", (answer) => ({
      ...answer,
      text: JSON.stringify({
        errors: [{ type: "FORBIDDEN", message: "Resource protected by a rule." }],
        message: "Refused"
      })
    })),
    ...statuses.map(([status, message]) =>
      change(`${status} ${message}`, "lost", (answer) => ({
        ...answer,
        status,
        headers: { ...json, ...(status === 307 && elsewhere) },
        text: JSON.stringify({ message })
      }))
    )
  ]
}
