import { Effect, ParseResult, Schema } from "effect"
import { cutText } from "../base/CutText.js"
import { eventTypes, workspaceEventTypes } from "../domain/Event.js"
import { RequestInvalid } from "../domain/RequestInvalid.js"

/** The event types that a reader asked for. */
export type EventTypes = ReadonlySet<string>

/**
 * Reads a comma list of event types and of prefixes like `turn.*`. Undefined, for every type, when nothing was asked for. A name
 * that is no event type makes the request invalid.
 */
export const parseEventTypes = (text: string | undefined) => parse(text, eventTypes, "is no event type")

/** The same for the types of the stream of a workspace. */
export const parseWorkspaceTypes = (text: string | undefined) =>
  parse(text, workspaceEventTypes, "is no event type of the stream of a workspace")

/** The types that a name or a prefix like `turn.*` stands for; none for another text. */
export const typesNamed = <Type extends string>(name: string, types: ReadonlyArray<Type>): ReadonlyArray<Type> =>
  types.filter((type) => type === name || (name.endsWith(".*") && type.startsWith(name.slice(0, -1))))

const parse = (
  text: string | undefined,
  types: ReadonlyArray<string>,
  fault: string
): Effect.Effect<EventTypes | undefined, RequestInvalid> => {
  if (text === undefined) return Effect.succeed(undefined)
  const wanted = new Set<string>()
  for (const name of text.split(",").map((part) => part.trim())) {
    const found = typesNamed(name, types)
    if (found.length === 0) {
      const issue = new ParseResult.Type(Schema.String.ast, text, `'${cutText(name, 100)}' ${fault}`)
      return Effect.fail(new RequestInvalid({ loc: ["query", "types"], issue, input: text }))
    }
    for (const type of found) wanted.add(type)
  }
  return Effect.succeed(wanted)
}
