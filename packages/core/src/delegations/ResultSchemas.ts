import { Context, Data, Effect, Layer, ParseResult, Schema } from "effect"
import type { ResultSchema } from "../domain/Delegation.js"
import { RequestInvalid } from "../domain/RequestInvalid.js"

/** A schema is compiled to code, so its size is bounded: in characters of its JSON. */
const maxSchemaLength = 64 * 1024

/** Checks the values of results against the schemas that delegations ask for. */
export class ResultSchemas extends Context.Tag("@reins/core/delegations/ResultSchemas")<
  ResultSchemas,
  {
    /** Fails unless it is a JSON Schema of the draft 2020-12 that refers to nothing outside of itself. */
    readonly checkSchema: (schema: ResultSchema) => Effect.Effect<void, RequestInvalid>
    /** Fails with everything in which the value does not satisfy the schema; an absent value satisfies none. */
    readonly checkValue: (schema: ResultSchema, value: unknown) => Effect.Effect<void, RequestInvalid>
  }
>() {
  static readonly layer = Layer.effect(
    ResultSchemas,
    Effect.gen(function* () {
      // Few programs ask for results of a shape, and loading and making the validator takes a while.
      const validator = yield* Effect.cached(
        Effect.promise(async () => {
          const { Ajv2020 } = await import("ajv/dist/2020.js")
          return new Ajv2020({
            allErrors: true,
            strict: false,
            validateFormats: false,
            addUsedSchema: false,
            ownProperties: true,
            logger: false
          })
        })
      )

      const compile = Effect.fnUntraced(function* (schema: ResultSchema) {
        const ajv = yield* validator
        if (JSON.stringify(schema).length > maxSchemaLength) {
          return yield* invalidSchema(schema, `Input should be a JSON Schema of at most ${maxSchemaLength} characters`)
        }
        // An asynchronous schema would answer with a promise. It is an invention of the library, not of the draft.
        if ("$async" in schema) return yield* invalidSchema(schema, "Input should not hold $async")
        return yield* Effect.try({
          try: () => {
            try {
              return ajv.compile(schema)
            } finally {
              ajv.removeSchema(schema)
            }
          },
          catch: (error) =>
            invalidSchema(schema, `Input should be a JSON Schema of the draft 2020-12: ${reasonOf(error)}`)
        })
      })

      return ResultSchemas.of({
        checkSchema: Effect.fn("ResultSchemas.checkSchema")((schema) => Effect.asVoid(compile(schema))),
        checkValue: Effect.fn("ResultSchemas.checkValue")(function* (schema, value) {
          if (value === undefined) return yield* missingValue
          const validate = yield* Effect.orDie(compile(schema))
          if (validate(value)) return
          const [first, ...others] = (validate.errors ?? []).map((error) => issueOf(error, value))
          if (first === undefined) return
          return yield* new RequestInvalid({
            loc: ["body", "value"],
            issue: new ParseResult.Composite(Schema.Unknown.ast, value, [first, ...others]),
            input: value
          })
        })
      })
    })
  )
}

/** What the validator says of one place of a value. */
interface SchemaError {
  /** A JSON pointer. */
  readonly instancePath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string
}

const issueOf = (error: SchemaError, value: unknown): ParseResult.ParseIssue => {
  const path = error.instancePath
    .split("/")
    .slice(1)
    .map((key) => decodeURIComponent(key).replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((key) => (/^\d+$/.test(key) ? Number(key) : key))
  const missing = error.keyword === "required" ? error.params["missingProperty"] : undefined
  return typeof missing === "string"
    ? new ParseResult.Pointer([...path, missing], value, new ParseResult.Missing(requiredField))
    : at(path, value, new ParseResult.Type(Schema.Unknown.ast, value, `Input ${error.message ?? "is not valid"}`))
}

const at = (path: ReadonlyArray<string | number>, value: unknown, issue: ParseResult.ParseIssue) =>
  path.length === 0 ? issue : new ParseResult.Pointer(path, value, issue)

const requiredField = Schema.Struct({ value: Schema.Unknown }).ast

const invalidSchema = (schema: ResultSchema, message: string): RequestInvalid =>
  new RequestInvalid({
    loc: ["body", "result_schema"],
    issue: new ParseResult.Type(Schema.Unknown.ast, schema, message),
    input: schema
  })

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message.slice(0, 300) : "it is malformed")
