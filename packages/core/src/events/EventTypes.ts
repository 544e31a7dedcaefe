import { cutText } from "@reins/base/base/CutText"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Effect, ParseResult, Schema } from "effect"

/** The event types that a reader asked for. */
export type EventTypes = ReadonlySet<string>

/** True when a name or a prefix like `turn.*` stands for the type. */
export const isNamed = (name: string, type: string): boolean =>
  type === name || (name.endsWith(".*") && type.startsWith(name.slice(0, -1)))

/** The types that a name or a prefix stands for; none for another text. */
export const typesNamed = <Type extends string>(name: string, types: ReadonlyArray<Type>): ReadonlyArray<Type> =>
  types.filter((type) => isNamed(name, type))

/** The types that a comma list of names and of prefixes stands for. `fault` says what a name is that stands for none. */
export const parseTypes = (
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
