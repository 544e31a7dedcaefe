import { JoinsRepeated } from "@reins/base/domain/Query"
import { SchemaAST as AST, type Schema } from "effect"
import { namesOf, unknownParameters } from "./UnknownFields.js"
import { echoed } from "./validation/EchoedInput.js"
import { type ValidationError, valueError } from "./validation/Validation.js"

/** The parameters of a query, by their names. */
export interface QueryParts {
  /** One value for each name. The values of a list are joined by commas; of any other repeated name the last one is here. */
  readonly given: Readonly<Record<string, string>>
  /** The paths of the parameters that the operation does not know. */
  readonly unknown: ReadonlyArray<string>
  /** The faults that the values cannot show: a single value that was given again, and bytes that are not UTF-8. */
  readonly faults: ReadonlyArray<ValidationError>
}

const none: QueryParts = { given: {}, unknown: [], faults: [] }

/** Prepares the reading of an operation's query. An operation without parameters knows none. */
export const queryReader = (schema: Schema.Schema.All | undefined): ((query: string) => QueryParts) => {
  const known = schema === undefined ? new Set<string>() : namesOf(schema)
  const lists = schema === undefined ? new Set<string>() : listsOf(schema)
  return (query) => {
    if (query === "") return none
    const values = new Map<string, string>()
    const repeated = new Map<string, Array<string>>()
    for (const [name, value] of new URLSearchParams(query)) {
      const before = values.get(name)
      if (before === undefined) values.set(name, value)
      else if (lists.has(name)) values.set(name, `${before},${value}`)
      else {
        values.set(name, value)
        if (known.has(name)) repeated.set(name, [...(repeated.get(name) ?? [before]), value])
      }
    }
    const given = Object.fromEntries(values)
    return {
      given,
      unknown: unknownParameters(known, given),
      faults: [...[...repeated].map(givenAgain), ...(query.includes("%") ? notUtf8(query, known) : [])]
    }
  }
}

const givenAgain = ([name, values]: readonly [string, ReadonlyArray<string>]): ValidationError =>
  valueError(["query", name], `this takes one value, and ${values.length} are given`, echoed(["query", name], values))

const notUtf8 = (query: string, known: ReadonlySet<string>): ReadonlyArray<ValidationError> =>
  query.split("&").flatMap((pair) => {
    if (isUtf8(pair)) return []
    const [[name = "", value = ""] = []] = new URLSearchParams(pair)
    const loc = ["query", name]
    return known.has(name) ? [valueError(loc, "this is not UTF-8", echoed(loc, value))] : []
  })

const isUtf8 = (encoded: string): boolean => {
  try {
    // A percent sign without two digits stands for itself.
    decodeURIComponent(encoded.replace(/%(?![0-9a-f]{2})/gi, "%25"))
    return true
  } catch {
    return false
  }
}

const listsOf = (schema: Schema.Schema.All): ReadonlySet<string> =>
  new Set(
    AST.getPropertySignatures(AST.encodedAST(schema.ast)).flatMap(({ name, type }) =>
      type.annotations[JoinsRepeated] === true ? [String(name)] : []
    )
  )
