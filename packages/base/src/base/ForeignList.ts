import { Either, Option, ParseResult, Schema } from "effect"
import { type ForeignText, foreignName } from "./ForeignText.js"

// Reads lists of other programs element by element, so that one odd element costs one element.

/** An element that could not be read. */
export interface OddElement {
  /** Its place in the list, from 0. */
  readonly at: number
  /** The name that it gives itself, or its id. Null when it gives none. */
  readonly name: ForeignText | null
  /** The path of the field that is not as it has to be. Empty for the element itself. */
  readonly field: string
}

/** The elements that could be read, in their order, and those that could not. */
export interface ReadList<A> {
  readonly items: ReadonlyArray<A>
  readonly odd: ReadonlyArray<OddElement>
}

const longestName = 255

const Named = Schema.decodeUnknownOption(Schema.Struct({ name: Schema.String }))
const Numbered = Schema.decodeUnknownOption(Schema.Struct({ id: Schema.Union(Schema.String, Schema.Number) }))

const nameOf = (element: unknown): ForeignText | null =>
  Named(element).pipe(
    Option.map(({ name }) => name),
    Option.orElse(() => Option.map(Numbered(element), ({ id }) => String(id))),
    Option.map((name) => foreignName(name, longestName)),
    Option.filter((name) => name !== ""),
    Option.getOrNull
  )

const fieldOf = (error: ParseResult.ParseError): string =>
  ParseResult.ArrayFormatter.formatErrorSync(error)[0]?.path.join(".") ?? ""

/** Reads each element by itself. */
export const readEach = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknownEither(schema)
  return (list: ReadonlyArray<unknown>): ReadList<A> => {
    const items: Array<A> = []
    const odd: Array<OddElement> = []
    for (const [at, element] of list.entries())
      Either.match(decode(element), {
        onLeft: (error) => odd.push({ at, name: nameOf(element), field: fieldOf(error) }),
        onRight: (item) => items.push(item)
      })
    return { items, odd }
  }
}

/** Names an odd element in a sentence, as in `"build" (field "status")`. */
export const oddText = ({ at, field, name }: OddElement): string => {
  const who = name === null ? `the ${at + 1}. element` : JSON.stringify(name)
  return field === "" ? who : `${who} (field ${JSON.stringify(foreignName(field, longestName))})`
}
