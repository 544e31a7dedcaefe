import { cutText, shortened } from "@reins/base/base/CutText"
import type { Asked, HarnessDiff, Tool } from "../HarnessEvent.js"
import { changedPart } from "./ChangedPart.js"
import { isEmpty } from "./ToolRecord.js"

const titleLength = 1000
const descriptionLength = 16_000
/** The most edits that a question shows. The events of the call have all of them. */
const maxEdits = 20
const maxNamed = 3
const maxDepth = 16

/** The longest texts of an input, from the first attempt to fit it into a description to the last. */
const textLengths = [6000, 2000, 600, 200]

/** A person who is to approve something learns that there is nothing else to look at. */
const untold = "The agent says no more about it than this title."

/**
 * The title and the description with which a person decides about a call. The description is its input as JSON, with the edits, places and words of the
 * agent. `given` is the call as it came, for one that could not be read.
 */
export const shownCall = (
  kind: Asked["kind"],
  call: Tool | undefined,
  given: unknown
): Pick<Asked, "title" | "description"> => ({
  title: shortened(call === undefined ? "The agent asks" : titleOf(call), titleLength),
  description: descriptionOf(call, given) ?? (kind === "approval" ? untold : null)
})

/** True for a call that says more than its title. */
export const isTold = (call: Tool): boolean => descriptionOf(call, undefined) !== null

const nameOf = (path: string): string => path.split("/").at(-1) || path

const pathsOf = ({ diffs, locations }: Tool): ReadonlyArray<string> => [
  ...new Set([...diffs, ...locations].map(({ path }) => path))
]

/** A list of questions shows titles alone, so a title names the files of an edit. */
const titleOf = (call: Tool): string => {
  const paths = pathsOf(call)
  if (paths.length === 0 || paths.some((path) => call.title.includes(nameOf(path)))) return call.title
  const more = paths.length > maxNamed ? ` and ${paths.length - maxNamed} more` : ""
  return `${call.title}: ${paths.slice(0, maxNamed).join(", ")}${more}`
}

const descriptionOf = (call: Tool | undefined, given: unknown): string | null => {
  if (call === undefined) return isEmpty(given) ? null : fitted(given)
  const texts = textsIn(call.input)
  const edits = call.diffs.filter((diff) => !isToldIn(texts, diff))
  const words = (call.output_text ?? "").trim()
  const title = titleOf(call)
  const more = {
    ...(title.length > titleLength && { title }),
    ...(edits.length > 0 && { edits: edits.slice(0, maxEdits).map(editOf) }),
    ...(edits.length > maxEdits && { further_files: edits.length - maxEdits }),
    // Some agents say with words what they want to do, and repeat parts of the input in them.
    ...(words !== "" && texts.every((text) => !text.includes(words)) && { agent_says: words })
  }
  const [only, ...others] = Object.keys(more)
  if (!isEmpty(call.input)) return fitted(only === undefined ? call.input : { ...asObject(call.input), ...more })
  if (only === "agent_says") return cut(words)
  if (only === "edits" && others.length === 0 && edits.length === 1) return fitted(more.edits?.[0])
  if (only !== undefined) return fitted(more)
  const paths = pathsOf(call)
  return paths.length === 0 ? null : fitted({ paths: paths.slice(0, maxEdits) })
}

const asObject = (input: unknown): object =>
  typeof input === "object" && input !== null && !Array.isArray(input) ? input : { input }

const editOf = ({ new_text, old_text, path }: HarnessDiff) => ({ path, ...changedPart(old_text, new_text) })

/** All texts of an input. */
const textsIn = (value: unknown, depth = 0): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  if (typeof value !== "object" || value === null || depth > maxDepth) return []
  return Object.values(value).flatMap((each) => textsIn(each, depth + 1))
}

/** True for an edit whose file and texts are texts of the input, as they are. */
const isToldIn = (texts: ReadonlyArray<string>, { new_text, old_text, path }: HarnessDiff): boolean =>
  [path, new_text, old_text ?? ""].every((text) => text === "" || texts.includes(text))

/** JSON of a value that fits into a description. Long texts are cut before the value is, so that readers can still parse it. */
const fitted = (value: unknown): string => {
  const whole = json(value)
  if (whole.length <= descriptionLength) return whole
  for (const most of textLengths) {
    const shorter = json(withShorterTexts(value, most))
    if (shorter.length <= descriptionLength) return shorter
  }
  return cut(whole)
}

const json = (value: unknown): string => JSON.stringify(value) ?? ""

const withShorterTexts = (value: unknown, most: number, depth = 0): unknown => {
  if (typeof value === "string")
    return value.length <= most ? value : `${cutText(value, most)}\n${left(value.length - most)}`
  if (typeof value !== "object" || value === null || depth > maxDepth) return value
  if (Array.isArray(value)) return value.map((each) => withShorterTexts(each, most, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, withShorterTexts(each, most, depth + 1)])
  )
}

/** A sentence for the part that is not shown. */
const left = (characters: number): string => `… ${characters} more characters are in the events of the call.`

const cut = (text: string): string =>
  text.length <= descriptionLength
    ? text
    : `${cutText(text, descriptionLength)}\n${left(text.length - descriptionLength)}`
