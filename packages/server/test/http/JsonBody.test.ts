import { assert, describe, it } from "@effect/vitest"
import { parseJson } from "@reins/server/http/JsonBody"
import { Either } from "effect"
import * as fc from "fast-check"

const parse = (text: string) => parseJson(Buffer.from(text, "utf8"))

/** The value that JSON.parse makes of a text; undefined where it refuses it. */
const parsed = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

const text = fc.string({
  unit: fc.oneof(fc.constantFrom('"', "\\", "/", "[", "{", ",", "\n", "é", "😀"), fc.string({ maxLength: 3 }))
})
const value = fc.jsonValue({ depthSize: "medium", stringUnit: "binary" })
/** JSON as programs and people write it, with escapes and white space. */
const json = fc.oneof(
  fc.tuple(value, fc.constantFrom(0, 1, "\t")).map(([given, indent]) => JSON.stringify(given, null, indent)),
  value.map((given) =>
    JSON.stringify(given).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
  )
)
const sign = fc.constantFrom(
  ...'[]{},:"\\/ \t\n\r\u0000\u000b\u00a0\u2028-+.0123456789eEu',
  "null",
  "true",
  "NaN",
  "Infinity",
  "01",
  "1e",
  "\\u12",
  "//",
  "'"
)
/** JSON with a few characters taken out, put in or replaced. */
const nearlyJson = fc
  .tuple(json, fc.array(fc.tuple(fc.nat(), fc.nat({ max: 2 }), sign), { minLength: 1, maxLength: 3 }))
  .map(([given, edits]) =>
    edits.reduce((was, [where, removed, added]) => {
      const at = where % (was.length + 1)
      return was.slice(0, at) + added + was.slice(at + removed)
    }, given)
  )

const faultOf = (given: string) => {
  const left = Either.getOrThrow(Either.flip(parse(given)))
  return { at: left.loc[1], error: left.ctx?.["error"] }
}

const losses = ["value_error", "int_parsing_size", "finite_number"]

describe("parseJson", () => {
  it("reads what JSON.stringify writes", () => {
    fc.assert(
      fc.property(json, (given) => assert.deepStrictEqual(Either.getOrThrow(parse(given)), JSON.parse(given))),
      { numRuns: 1000 }
    )
  })

  it("finds the name that an object has twice, wherever it is", () => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 5 }), text, value, value, (before, name, one, other) => {
        const key = JSON.stringify(Buffer.from(name).toString())
        const twice = `{${key}:${JSON.stringify(one)},"other":[],${key}:${JSON.stringify(other)}}`
        const given = `[${[...before.map((item) => JSON.stringify(item)), twice].join()}]`
        const left = Either.getOrThrow(Either.flip(parse(given)))
        assert.deepStrictEqual(left.loc, ["body", before.length, JSON.parse(key)])
      }),
      { numRuns: 300 }
    )
  })

  it("accepts exactly what JSON.parse accepts without a loss, and reads the same value", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          json,
          nearlyJson,
          text,
          fc.array(sign).map((signs) => signs.join(""))
        ),
        (sent) => {
          // A text that is not well-formed Unicode cannot be sent as it is.
          const given = Buffer.from(sent, "utf8").toString("utf8")
          const expected = parsed(given.replace(/^\ufeff/, ""))
          const actual = parse(given)
          if (expected !== undefined && Either.isRight(actual))
            return assert.deepStrictEqual(actual.right, expected.value)

          if (expected !== undefined) return assert.include(losses, Either.getOrThrow(Either.flip(actual)).type)
          const { at, error } = faultOf(given)
          assert.isString(error)
          assert.isTrue(typeof at === "number" && at >= 0 && at <= [...given].length, `${at}`)
        }
      ),
      { numRuns: 3000 }
    )
  })

  it("counts every value once, whatever it holds and wherever white space is", () => {
    const count = (given: unknown): number =>
      typeof given === "object" && given !== null
        ? Object.values(given).reduce((sum: number, inner) => sum + count(inner), 1)
        : 1
    fc.assert(
      fc.property(value, fc.constantFrom(0, 1), (given, indent) => {
        const one = JSON.stringify(given, null, indent)
        const size = count(given)
        // As often as it fits into the list that the text is, and one value for the list itself.
        const times = Math.floor((50_000 - 1) / size)
        const most = [...Array(times).fill(one), ...Array(50_000 - 1 - times * size).fill("0")]
        assert.isTrue(Either.isRight(parse(`[${most.join()}]`)))
        assert.strictEqual(faultOf(`[${most.join()},0]`).error, "More than 50000 values")
      }),
      { numRuns: 30 }
    )
  })

  it("reads 200 levels and not one more, also where the levels are mixed", () => {
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { minLength: 200, maxLength: 200 }),
        fc.constantFrom("", "0", '""'),
        (lists, core) => {
          const inside = lists.reduce(
            (inner, isList) => (isList ? `[${inner}]` : `{"[":${inner === "" ? "0" : inner}}`),
            core
          )
          assert.isTrue(Either.isRight(parse(inside)))
          assert.deepStrictEqual(faultOf(`[${inside}]`).error, "Nesting deeper than 200")
        }
      ),
      { numRuns: 50 }
    )
  })

  it("brackets, commas and quotes in a string count for nothing", () => {
    fc.assert(
      fc.property(fc.constantFrom("[", "{", ",", "]", "}", '"', "\\", '\\"['), (piece) => {
        assert.isTrue(Either.isRight(parse(JSON.stringify([piece.repeat(150_000)]))))
      })
    )
  })

  it("refuses what is not UTF-8, and passes over a byte order mark", () => {
    assert.isTrue(Either.isLeft(parseJson(Buffer.from([0x22, 0xff, 0x22]))))
    assert.isTrue(Either.isLeft(parseJson(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))))
    assert.deepStrictEqual(Either.getOrThrow(parse("\ufeff[1]")), [1])
  })

  it("finds the fault at the end of a large upload without holding much more than it", () => {
    for (const content of [
      "A".repeat(8_000_000),
      "\\n".repeat(4_000_000),
      "\\u00e9".repeat(1_300_000),
      "😀".repeat(2_000_000)
    ]) {
      const given = `{"content":"${content}",}`
      assert.deepStrictEqual(faultOf(given), {
        at: content === "😀".repeat(2_000_000) ? given.length - 1 - 2_000_000 : given.length - 1,
        error: "Expecting property name enclosed in double quotes"
      })
    }
  })
})
