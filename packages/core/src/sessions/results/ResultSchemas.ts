import { cutText } from "@reins/base/base/CutText"
import { once } from "@reins/base/base/Once"
import { fn } from "@reins/base/base/Traced"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Context, Effect, Layer, ParseResult, Schema, SchemaAST } from "effect"
import type { ResultSchema } from "../rows/TurnResult.js"
import { withEquality } from "./EqualityKeywords.js"
import { isTimeout, withinTime } from "./WithinTime.js"

/** A result, as far as its schema goes. An absent value satisfies none. */
interface ResultInput {
  readonly value?: unknown
  readonly summary?: string
}

/** The longest schema, in characters of its JSON. A schema is compiled to code, so its size has to be bounded. */
const maxSchemaLength = 64 * 1024

const draft = "https://json-schema.org/draft/2020-12/schema"

/** Checks the results of turns and delegations against their schemas. `format` only describes and refuses nothing, as the draft says. */
export class ResultSchemas extends Context.Tag("@reins/core/sessions/results/ResultSchemas")<
  ResultSchemas,
  {
    /** Fails, at a place of the request, unless the schema is absent or a JSON Schema of the draft 2020-12 that refers to nothing outside of itself. */
    readonly checkSchema: (
      schema: ResultSchema | undefined,
      loc?: ReadonlyArray<string>
    ) => Effect.Effect<void, RequestInvalid>
    /** Fails with each place at which the `value` of a result does not satisfy the schema. An absent value satisfies none. */
    readonly checkResult: (schema: ResultSchema, result: ResultInput) => Effect.Effect<void, RequestInvalid>
  }
>() {
  static readonly layer = Layer.effect(
    ResultSchemas,
    Effect.gen(function* () {
      // Loaded at the first use: few programs ask for results of a shape, and loading the validator takes a while.
      // The default export is used because a CommonJS module has no other one in a bundle.
      const library = yield* once(Effect.promise(async () => (await import("ajv/dist/2020.js")).default))
      const metaValidator = yield* once(
        Effect.map(library, ({ Ajv2020 }) => new Ajv2020({ strict: false, validateFormats: false, logger: false }))
      )

      const compile = Effect.fnUntraced(function* (schema: ResultSchema, loc: ReadonlyArray<string> = []) {
        const { Ajv2020 } = yield* library
        return yield* Effect.try({
          try: () =>
            withinTime(() => {
              // Each try has a compiler of its own. A shared one would keep the ids that a schema defines, and one that was broken off keeps its half.
              const ajv = withEquality(
                new Ajv2020({
                  allErrors: true,
                  strict: false,
                  validateFormats: false,
                  ownProperties: true,
                  meta: false,
                  validateSchema: false,
                  logger: false
                })
              )
              return ajv.compile(schema)
            }),
          catch: (error) => invalidSchema(loc, schema, reasonOf(error))
        })
      })

      return ResultSchemas.of({
        checkSchema: fn("ResultSchemas.checkSchema")(function* (schema, loc = ["body", "result_schema"]) {
          if (schema === undefined) return
          // A schema of great depth ends the stack of whatever reads it by recursion.
          const text = yield* Effect.try({ try: () => JSON.stringify(schema), catch: () => tooDeep(loc) })
          if (text.length > maxSchemaLength)
            return yield* invalidSchema(loc, schema, `it is longer than ${maxSchemaLength} characters`)
          // The validator passes over a property of this name, so it would accept every value of it.
          if (text.includes('"__proto__":')) return yield* invalidSchema(loc, schema, "it holds the name __proto__")
          if (![undefined, draft, `${draft}#`].some((known) => known === schema["$schema"]))
            return yield* invalidSchema(loc, schema, `its $schema is not ${draft}`)
          // `$async` is no part of the draft, and would make the library answer with a promise.
          if ("$async" in schema) return yield* invalidSchema(loc, schema, "it holds $async")
          const ajv = yield* metaValidator
          const isSchema = yield* Effect.try({ try: () => ajv.validate(draft, schema), catch: () => tooDeep(loc) })
          if (isSchema !== true)
            return yield* invalidSchema(loc, schema, ajv.errorsText(ajv.errors, { dataVar: "result_schema" }))
          yield* compile(schema, loc)
        }),
        checkResult: fn("ResultSchemas.checkResult")(function* (schema, result) {
          if (!("value" in result)) {
            return yield* new RequestInvalid({ loc: ["body"], issue: missingAt(["value"], result), input: result })
          }
          // Compiling a schema that was accepted takes too long only on a machine that is very busy.
          const validate = yield* Effect.mapError(compile(schema), () => tooSlow(result))
          const isValid = yield* Effect.try({
            try: () => withinTime(() => validate(result.value)),
            catch: (error) => (isTimeout(error) ? tooSlow(result) : unchecked(result, error))
          })
          if (isValid) return
          const [first, ...others] = (validate.errors ?? []).slice(0, maxErrors).map((error) => issueOf(error, result))
          if (first === undefined) return
          return yield* new RequestInvalid({
            loc: ["body"],
            issue: new ParseResult.Composite(Schema.Unknown.ast, result, [first, ...others]),
            input: result
          })
        })
      })
    })
  )
}

const reasonOf = (error: unknown): string =>
  isTimeout(error)
    ? "it takes too long to prepare. Make it smaller"
    : error instanceof Error
      ? error.message
      : "it cannot be prepared"

/** The number of faults that an answer names, because a value can be wrong in every place. */
const maxErrors = 100

/** The complaint of the validator about one place of a value. */
interface SchemaError {
  /** A JSON pointer. */
  readonly instancePath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string
}

const issueOf = (error: SchemaError, result: ResultInput): ParseResult.ParseIssue => {
  const keys = error.instancePath.split("/").slice(1)
  const path = keys.map((key) => (/^\d+$/.test(key) ? Number(key) : key.replaceAll("~1", "/").replaceAll("~0", "~")))
  const property = error.keyword === "required" ? error.params["missingProperty"] : undefined
  if (typeof property === "string") return missingAt(["value", ...path, property], result)
  const issue = new ParseResult.Type(Schema.Unknown.ast, result, `Input ${error.message ?? "is not valid"}`)
  return new ParseResult.Pointer(["value", ...path], result, issue)
}

const tooSlow = (result: ResultInput): RequestInvalid =>
  refused(result, "Input could not be checked in time: the result_schema, or a pattern of it, takes too long on it")

/** The validator runs out of stack on a value of great depth. */
const unchecked = (result: ResultInput, error: unknown): RequestInvalid =>
  refused(
    result,
    `Input could not be checked: ${error instanceof RangeError ? "it is nested too deeply" : "it cannot be read"}`
  )

const refused = (result: ResultInput, message: string): RequestInvalid =>
  new RequestInvalid({
    loc: ["body"],
    issue: new ParseResult.Pointer(["value"], result, new ParseResult.Type(Schema.Unknown.ast, result, message)),
    input: result
  })

const missingAt = (path: readonly [string, ...Array<string | number>], result: ResultInput) =>
  new ParseResult.Pointer(path, result, new ParseResult.Missing(new SchemaAST.Type(Schema.Unknown.ast)))

/** The refusal of a schema that nothing can read. It does not hold the schema, which the formatter of refusals could not read either. */
const tooDeep = (loc: ReadonlyArray<string>): RequestInvalid => invalidSchema(loc, {}, "it is nested too deeply")

const invalidSchema = (loc: ReadonlyArray<string>, schema: ResultSchema, reason: string): RequestInvalid => {
  const message = `Input should be a JSON Schema of the draft 2020-12: ${cutText(reason, 300)}`
  return new RequestInvalid({
    loc,
    issue: new ParseResult.Type(Schema.Unknown.ast, schema, message),
    input: schema
  })
}
