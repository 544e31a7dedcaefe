import { ParseResult, Schema } from "effect"

/** Carries the FastAPI error type and message of a query value that is not a number. */
export const QueryFailure: unique symbol = Symbol.for("@reins/core/domain/QueryFailure")

/** Marks a parameter whose value is a comma list. Given more than once, its values make one list. */
export const JoinsRepeated: unique symbol = Symbol.for("@reins/core/domain/JoinsRepeated")

/** A comma list in a query. */
export const commaList = Schema.String.annotations({ [JoinsRepeated]: true })

const parse = <A extends number>(
  accepts: (text: string) => boolean,
  self: Schema.Schema<A, number>,
  jsonSchema: Record<string, unknown>,
  failure: { readonly type: string; readonly msg: string }
): Schema.Schema<A, string> =>
  Schema.transformOrFail(Schema.String, self, {
    strict: true,
    decode: (text, _, ast) =>
      accepts(text)
        ? ParseResult.succeed(toNumber(text))
        : ParseResult.fail(new ParseResult.Type(ast, text, failure.msg)),
    encode: (value) => ParseResult.succeed(String(value))
  }).annotations({ jsonSchema, [QueryFailure]: failure })

const toNumber = (text: string): number =>
  /inf/i.test(text) ? (text.includes("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY) : Number(text)

const bounded = (range: { readonly min?: number; readonly max?: number }) => {
  let schema: Schema.Schema<number> = Schema.Number
  if (range.min !== undefined) schema = schema.pipe(Schema.greaterThanOrEqualTo(range.min))
  if (range.max !== undefined) schema = schema.pipe(Schema.lessThanOrEqualTo(range.max))
  return schema
}

const bounds = (range: { readonly min?: number; readonly max?: number }) => ({
  ...(range.min !== undefined && { minimum: range.min }),
  ...(range.max !== undefined && { maximum: range.max })
})

/** An integer as FastAPI reads one from a query: `10` and `10.0`, nothing else. */
export const integer = (range: { readonly min?: number; readonly max?: number } = {}) =>
  parse(
    (text) => /^\s*[+-]?\d+(?:\.0+)?\s*$/.test(text),
    // A larger one would be rounded to another number before it is compared.
    bounded({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER, ...range }),
    { type: "integer", ...bounds(range) },
    {
      type: "int_parsing",
      msg: "Input should be a valid integer, unable to parse string as an integer"
    }
  )

/** A number as FastAPI reads one from a query; infinity is a number. */
export const number = (range: { readonly min?: number; readonly max?: number } = {}) =>
  parse(
    (text) => /^\s*[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)\s*$/i.test(text),
    bounded(range),
    { type: "number", ...bounds(range) },
    { type: "float_parsing", msg: "Input should be a valid number, unable to parse string as a number" }
  )

const truths: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries(["1", "on", "t", "true", "y", "yes"].map((text) => [text, true])),
  ...Object.fromEntries(["0", "off", "f", "false", "n", "no"].map((text) => [text, false]))
}

const boolFailure = { type: "bool_parsing", msg: "Input should be a valid boolean, unable to interpret input" }

/** A boolean as FastAPI reads one from a query. */
export const boolean = Schema.transformOrFail(Schema.String, Schema.Boolean, {
  strict: true,
  decode: (text, _, ast) => {
    const value = Object.hasOwn(truths, text.toLowerCase()) ? truths[text.toLowerCase()] : undefined
    return value === undefined
      ? ParseResult.fail(new ParseResult.Type(ast, text, boolFailure.msg))
      : ParseResult.succeed(value)
  },
  encode: (value) => ParseResult.succeed(String(value))
}).annotations({ jsonSchema: { type: "boolean" }, [QueryFailure]: boolFailure })

/** `?limit= (1 to 200, default 50) and `?cursor=` of every list. */
export const pageFields = {
  limit: Schema.optionalWith(integer({ min: 1, max: 200 }), { exact: true }),
  cursor: Schema.optionalWith(Schema.String, { exact: true })
}

/** A label in a query, as `name=value`: the first `=` ends the name. */
export const LabelText = Schema.String.pipe(Schema.pattern(/^[^=]+=/))
