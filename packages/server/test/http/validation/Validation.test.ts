import { assert, describe, it } from "@effect/vitest"
import { integer, number } from "@reins/base/domain/Query"
import { EventQuery } from "@reins/core/events/EventsApi"
import { ApiKeyInput, EmailVerificationInput, LoginInput } from "@reins/core/identity/AccountsApi"
import { MessageSend } from "@reins/core/sessions/messages/ConversationApi"
import { toDetails, type ValidationError } from "@reins/server/http/validation/Validation"
import { Either, FastCheck, ParseResult, Schema } from "effect"

const detailsOf = (
  schema: Schema.Schema.AnyNoContext,
  input: unknown,
  part = "body"
): ReadonlyArray<ValidationError> => {
  const decoded = ParseResult.decodeUnknownEither(schema, { errors: "all" })(input)
  return Either.isLeft(decoded) ? toDetails([part], decoded.left, input) : []
}

const Block = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }).annotations({ identifier: "Block" })

/** The same model as a FastAPI 0.142 application has it, whose answers are the expected ones below. */
const Model = Schema.Struct({
  s: Schema.String.pipe(Schema.minLength(2), Schema.maxLength(3)),
  i: Schema.Int,
  f: Schema.Number,
  b: Schema.Boolean,
  lit: Schema.Literal("a", "b", "c"),
  l: Schema.Array(Schema.String).pipe(Schema.minItems(1), Schema.maxItems(2)),
  n: Schema.Struct({ a: Schema.String }),
  d: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  p: Schema.String.pipe(Schema.pattern(/^x$/)),
  c: Schema.Union(Schema.String, Schema.Array(Block)),
  g: Schema.optionalWith(Schema.Number.pipe(Schema.between(1, 5)), { exact: true }),
  gt: Schema.optionalWith(Schema.Number.pipe(Schema.greaterThan(1), Schema.lessThan(5)), { exact: true }),
  m1: Schema.optionalWith(Schema.NullOr(Schema.String.pipe(Schema.minLength(1))), { exact: true })
})

describe("a body", () => {
  it("that lacks every field lists each in the order of the schema, with the body as input", () => {
    assert.deepStrictEqual(
      detailsOf(Model, {}),
      ["s", "i", "f", "b", "lit", "l", "n", "d", "p", "c"].map((field) => ({
        type: "missing",
        loc: ["body", field],
        msg: "Field required",
        input: {}
      }))
    )
  })

  it("with wrong values is told about as pydantic does", () => {
    assert.deepStrictEqual(
      detailsOf(Model, {
        s: "a",
        i: 1.5,
        f: "x",
        b: 1.5,
        lit: "z",
        l: [],
        n: [],
        d: [],
        p: "y",
        c: 5,
        g: 0,
        gt: 1,
        m1: ""
      }),
      [
        {
          type: "string_too_short",
          loc: ["body", "s"],
          msg: "String should have at least 2 characters",
          input: "a",
          ctx: { min_length: 2 }
        },
        {
          type: "int_from_float",
          loc: ["body", "i"],
          msg: "Input should be a valid integer, got a number with a fractional part",
          input: 1.5
        },
        { type: "float_type", loc: ["body", "f"], msg: "Input should be a valid number", input: "x" },
        { type: "bool_type", loc: ["body", "b"], msg: "Input should be a valid boolean", input: 1.5 },
        {
          type: "literal_error",
          loc: ["body", "lit"],
          msg: "Input should be 'a', 'b' or 'c'",
          input: "z",
          ctx: { expected: "'a', 'b' or 'c'" }
        },
        {
          type: "too_short",
          loc: ["body", "l"],
          msg: "List should have at least 1 item after validation, not 0",
          input: [],
          ctx: { field_type: "List", min_length: 1, actual_length: 0 }
        },
        {
          type: "model_attributes_type",
          loc: ["body", "n"],
          msg: "Input should be a valid dictionary or object to extract fields from",
          input: []
        },
        { type: "dict_type", loc: ["body", "d"], msg: "Input should be a valid dictionary", input: [] },
        {
          type: "string_pattern_mismatch",
          loc: ["body", "p"],
          msg: "String should match pattern '^x$'",
          input: "y",
          ctx: { pattern: "^x$" }
        },
        { type: "string_type", loc: ["body", "c", "str"], msg: "Input should be a valid string", input: 5 },
        { type: "list_type", loc: ["body", "c", "list[Block]"], msg: "Input should be a valid list", input: 5 },
        {
          type: "greater_than_equal",
          loc: ["body", "g"],
          msg: "Input should be greater than or equal to 1",
          input: 0,
          ctx: { ge: 1 }
        },
        { type: "greater_than", loc: ["body", "gt"], msg: "Input should be greater than 1", input: 1, ctx: { gt: 1 } },
        {
          type: "string_too_short",
          loc: ["body", "m1"],
          msg: "String should have at least 1 character",
          input: "",
          ctx: { min_length: 1 }
        }
      ]
    )
  })

  it("with values beyond the other bound is told about as pydantic does", () => {
    assert.deepStrictEqual(
      detailsOf(Model, {
        s: "abcd",
        i: null,
        f: null,
        b: null,
        lit: 1,
        l: ["a", "b", "c"],
        n: "x",
        d: "x",
        p: 1,
        c: "x",
        g: 6,
        gt: 5
      }),
      [
        {
          type: "string_too_long",
          loc: ["body", "s"],
          msg: "String should have at most 3 characters",
          input: "abcd",
          ctx: { max_length: 3 }
        },
        { type: "int_type", loc: ["body", "i"], msg: "Input should be a valid integer", input: null },
        { type: "float_type", loc: ["body", "f"], msg: "Input should be a valid number", input: null },
        { type: "bool_type", loc: ["body", "b"], msg: "Input should be a valid boolean", input: null },
        {
          type: "literal_error",
          loc: ["body", "lit"],
          msg: "Input should be 'a', 'b' or 'c'",
          input: 1,
          ctx: { expected: "'a', 'b' or 'c'" }
        },
        {
          type: "too_long",
          loc: ["body", "l"],
          msg: "List should have at most 2 items after validation, not 3",
          input: ["a", "b", "c"],
          ctx: { field_type: "List", max_length: 2, actual_length: 3 }
        },
        {
          type: "model_attributes_type",
          loc: ["body", "n"],
          msg: "Input should be a valid dictionary or object to extract fields from",
          input: "x"
        },
        { type: "dict_type", loc: ["body", "d"], msg: "Input should be a valid dictionary", input: "x" },
        { type: "string_type", loc: ["body", "p"], msg: "Input should be a valid string", input: 1 },
        {
          type: "less_than_equal",
          loc: ["body", "g"],
          msg: "Input should be less than or equal to 5",
          input: 6,
          ctx: { le: 5 }
        },
        { type: "less_than", loc: ["body", "gt"], msg: "Input should be less than 5", input: 5, ctx: { lt: 5 } }
      ]
    )
  })

  it("that is not an object is a dict_type", () => {
    assert.deepStrictEqual(detailsOf(Model, [1]), [
      { type: "dict_type", loc: ["body"], msg: "Input should be a valid dictionary", input: [1] }
    ])
  })

  it("with a union is only told about the alternative that was meant", () => {
    assert.deepStrictEqual(detailsOf(MessageSend, { content: [{ type: "x" }] }), [
      {
        type: "literal_error",
        loc: ["body", "content", 0, "type"],
        msg: "Input should be 'text' or 'file'",
        input: "x",
        ctx: { expected: "'text' or 'file'" }
      }
    ])
    assert.deepStrictEqual(detailsOf(MessageSend, { content: [{ type: "text" }] }), [
      { type: "missing", loc: ["body", "content", 0, "text"], msg: "Field required", input: { type: "text" } }
    ])
    assert.deepStrictEqual(
      detailsOf(MessageSend, { content: "" }).map(({ type, loc }) => ({ type, loc })),
      [{ type: "value_error", loc: ["body", "content"] }]
    )
  })

  it("may have a message of 1,000 blocks and no more", () => {
    const blocks = (count: number) => ({ content: Array.from({ length: count }, () => ({ type: "text", text: "a" })) })
    assert.deepStrictEqual(detailsOf(MessageSend, blocks(1000)), [])
    assert.deepStrictEqual(
      detailsOf(MessageSend, blocks(1001)).map(({ ctx, loc, type }) => ({ ctx, loc, type })),
      [
        {
          type: "too_long",
          loc: ["body", "content"],
          ctx: { field_type: "List", max_length: 1000, actual_length: 1001 }
        }
      ]
    )
  })

  it("that breaks a rule of the whole is a value_error with its message", () => {
    assert.deepStrictEqual(detailsOf(EmailVerificationInput, {}), [
      {
        type: "value_error",
        loc: ["body"],
        msg: "Value error, Give either email or token",
        input: {},
        ctx: { error: {} }
      }
    ])
  })

  it("is told about without the values of its secret fields", () => {
    assert.deepStrictEqual(detailsOf(LoginInput, { password: "canary" }), [
      { type: "missing", loc: ["body", "email"], msg: "Field required", input: { password: "**********" } }
    ])
    assert.deepStrictEqual(
      detailsOf(LoginInput, { email: "a@b.c", password: 5 }).map(({ input }) => input),
      ["**********"]
    )
  })

  it("may leave out an optional field or give null for it, and is checked otherwise", () => {
    assert.deepStrictEqual(detailsOf(ApiKeyInput, { name: "a", scopes: null }), [])
    assert.deepStrictEqual(
      detailsOf(ApiKeyInput, { name: "a", scopes: ["root"], expires_at: "tomorrow" }).map(({ type, loc }) => ({
        type,
        loc
      })),
      [
        { type: "literal_error", loc: ["body", "scopes", 0] },
        { type: "datetime_parsing", loc: ["body", "expires_at"] }
      ]
    )
    assert.deepStrictEqual(
      detailsOf(ApiKeyInput, { name: "a", scopes: [] }).map(({ type, loc }) => ({ type, loc })),
      [{ type: "too_short", loc: ["body", "scopes"] }]
    )
  })
})

describe("a query", () => {
  const int = { type: "int_parsing", msg: "Input should be a valid integer, unable to parse string as an integer" }
  for (const given of ["abc", "", "1.5", "null", "1e2", "0x10"]) {
    it(`refuses limit=${given} as FastAPI does`, () => {
      assert.deepStrictEqual(detailsOf(EventQuery, { limit: given }, "query"), [
        { ...int, loc: ["query", "limit"], input: given }
      ])
    })
  }

  it("reads 10.0 and surrounding space as an integer and inf as a number", () => {
    assert.deepStrictEqual(detailsOf(EventQuery, { limit: "10.0", after: " 7 ", max_seconds: "inf" }, "query"), [])
  })

  it("lists all errors in the order of the parameters, with the text as input", () => {
    assert.deepStrictEqual(detailsOf(EventQuery, { limit: "0", max_seconds: "x", after: "b" }, "query"), [
      { ...int, loc: ["query", "after"], input: "b" },
      {
        type: "greater_than_equal",
        loc: ["query", "limit"],
        msg: "Input should be greater than or equal to 1",
        input: "0",
        ctx: { ge: 1 }
      },
      {
        type: "float_parsing",
        loc: ["query", "max_seconds"],
        msg: "Input should be a valid number, unable to parse string as a number",
        input: "x"
      }
    ])
  })

  it("says of a missing parameter that it is required, with null as input", () => {
    assert.deepStrictEqual(detailsOf(Schema.Struct({ path: Schema.String }), {}, "query"), [
      { type: "missing", loc: ["query", "path"], msg: "Field required", input: null }
    ])
  })
})

describe("every report", () => {
  const parts = Schema.Struct({ body: Model, n: integer({ min: 0 }), x: number() })

  it.prop(
    "about any JSON keeps to the declared shape and points into the input",
    [FastCheck.jsonValue({ maxDepth: 4 })],
    ([value]) => {
      for (const detail of [...detailsOf(Model, value), ...detailsOf(MessageSend, value), ...detailsOf(parts, value)]) {
        assert.strictEqual(detail.loc[0], "body")
        assert.match(detail.type, /^[a-z_]+$/)
        assert.notStrictEqual(detail.msg, "")
        assert.isTrue("input" in detail)
        assert.notInclude(detail.msg, "undefined")
      }
    }
  )
})
