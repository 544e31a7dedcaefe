import { assert, it } from "@effect/vitest"
import { processorMicros } from "@reins/base/base/ProcessorTime"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { ResultSchemas } from "@reins/core/sessions/results/ResultSchemas"
import { faultsOf } from "@reins/testing/Faults"
import { Effect } from "effect"

const detailsOf = <A>(check: Effect.Effect<A, RequestInvalid>) => Effect.map(Effect.flip(check), faultsOf)

const run = <A, E>(effect: Effect.Effect<A, E, ResultSchemas>) => Effect.provide(effect, ResultSchemas.layer)

const result = (value: unknown) => ({ kind: "generic" as const, summary: "Done.", value })

it.live("what is no JSON Schema of the draft, or reaches outside of itself, is refused at result_schema", () =>
  run(
    Effect.gen(function* () {
      const schemas = yield* ResultSchemas
      for (const schema of [
        { type: "strin" },
        { type: 1 },
        { properties: [] },
        { required: "a" },
        { minLength: -1 },
        { pattern: "(" },
        { $ref: "https://schemas.example/other.json" },
        { $ref: "#/$defs/absent" },
        { $schema: "http://json-schema.org/draft-07/schema#" },
        { $async: true },
        { description: "x".repeat(70_000) }
      ]) {
        const [detail, ...others] = yield* detailsOf(schemas.checkSchema(schema))
        assert.deepStrictEqual([detail?.loc, others], [["body", "result_schema"], []])
        assert.include(detail?.msg, "JSON Schema of the draft 2020-12")
      }
    })
  )
)

it.live(
  "what the draft knows is accepted: prefixItems, dependentRequired, $defs, unknown keywords, formats as words",
  () =>
    run(
      Effect.gen(function* () {
        const schemas = yield* ResultSchemas
        const schema = {
          $schema: "https://json-schema.org/draft/2020-12/schema",
          $defs: { point: { type: "array", prefixItems: [{ type: "number" }, { type: "number" }], items: false } },
          type: "object",
          properties: { at: { $ref: "#/$defs/point" }, when: { type: "string", format: "made-up" } },
          dependentRequired: { when: ["at"] },
          "x-mine": true
        }
        yield* schemas.checkSchema(schema)
        yield* schemas.checkResult(schema, result({ at: [1, 2], when: "now" }))
        const locs = yield* Effect.map(detailsOf(schemas.checkResult(schema, result({ at: [1, 2, 3] }))), (details) =>
          details.map(({ loc }) => loc)
        )
        assert.deepInclude(locs, ["body", "value", "at"])
      })
    )
)

it.live("a value is told of everything that is wrong with it, each at its place in the body", () =>
  run(
    Effect.gen(function* () {
      const schemas = yield* ResultSchemas
      const schema = {
        type: "object",
        required: ["score", "files"],
        properties: {
          score: { type: "integer" },
          files: { type: "array", items: { type: "object", required: ["a/b"] } }
        }
      }
      const details = yield* detailsOf(schemas.checkResult(schema, result({ score: "7", files: [{}, 3] })))
      assert.sameDeepMembers(
        details.map(({ isMissing, loc }) => [loc, isMissing]),
        [
          [["body", "value", "score"], false],
          [["body", "value", "files", 0, "a/b"], true],
          [["body", "value", "files", 1], false]
        ]
      )
      const absent = yield* detailsOf(schemas.checkResult(schema, { summary: "Done." }))
      assert.deepInclude(absent[0], { loc: ["body", "value"], isMissing: true })
    })
  )
)

it.live(
  "one schema leaves nothing behind for the next: ids are not kept, and nobody can replace those of the draft",
  () =>
    run(
      Effect.gen(function* () {
        const schemas = yield* ResultSchemas
        const draft = { $id: "https://json-schema.org/draft/2020-12/schema", type: "string" }
        yield* Effect.ignore(schemas.checkSchema(draft))
        yield* schemas.checkSchema({ $defs: { a: { $id: "https://schemas.example/a", type: "string" } } })
        yield* schemas.checkSchema({ $defs: { a: { $id: "https://schemas.example/a", type: "number" } } })
        const [outside] = yield* detailsOf(schemas.checkSchema({ $ref: "https://schemas.example/a" }))
        assert.deepStrictEqual(outside?.loc, ["body", "result_schema"])
        yield* schemas.checkSchema({ type: "object" })
        assert.isNotEmpty(yield* detailsOf(schemas.checkSchema({ type: "strin" })))
      })
    )
)

it.live("a pattern that would take for ever holds up nobody for long", () =>
  run(
    Effect.gen(function* () {
      const schemas = yield* ResultSchemas
      const schema = { type: "string", pattern: "^(a+)+$" }
      yield* schemas.checkSchema(schema)
      yield* schemas.checkResult(schema, result("aaaa"))
      const [detail] = yield* detailsOf(schemas.checkResult(schema, result(`${"a".repeat(50)}b`)))
      assert.deepStrictEqual(detail?.loc, ["body", "value"])
      assert.include(detail?.msg, "in time")
    })
  )
)

/** A value that is read only after so much time of the processor, in milliseconds, and 600 ms without it, so many times. */
const slowToRead = (times: number, worked = 0) => {
  const left = { times }
  return {
    get name() {
      if (left.times-- > 0) {
        // The time in the kernel and that of this thread alone count, as they do for the check.
        const begun = processorMicros()
        while (processorMicros() - begun < worked * 1000);
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
      }
      return "x"
    }
  }
}

it.live("the time that other programs had the processor counts for no value, and a pattern without an end counts", () =>
  run(
    Effect.gen(function* () {
      const schemas = yield* ResultSchemas
      const schema = { type: "object", properties: { name: { type: "string" } } }
      yield* schemas.checkResult(schema, result(slowToRead(2)))
      // Each try begins anew, so that all of them together may take longer than one.
      yield* schemas.checkResult(schema, result(slowToRead(2, 120)))
      // The collector may take the time of one try, and of no two.
      yield* schemas.checkResult(schema, result(slowToRead(1, 400)))
      const [slow] = yield* detailsOf(schemas.checkResult(schema, result(slowToRead(4, 4000))))
      assert.include(slow?.msg, "takes too long")
      const evil = { type: "string", pattern: "^(a+)+$" }
      const [detail] = yield* detailsOf(schemas.checkResult(evil, result(`${"a".repeat(40)}!`)))
      assert.include(detail?.msg, "takes too long")
    })
  )
)

it.live("a schema that takes too long to prepare is refused for that, and not for its form", () =>
  run(
    Effect.gen(function* () {
      const schemas = yield* ResultSchemas
      // The program that checks it takes a second to write.
      const long = { oneOf: Array.from({ length: 1900 }, () => ({ if: {}, else: { not: {} } })) }
      const [detail] = yield* detailsOf(schemas.checkSchema(long))
      assert.deepStrictEqual(detail?.loc, ["body", "result_schema"])
      assert.include(detail?.msg, "it takes too long to prepare", detail?.msg)
    })
  )
)

it.live("a value of great depth is refused for its depth, and one that cannot be read for that", () =>
  run(
    Effect.gen(function* () {
      const schemas = yield* ResultSchemas
      const lists = { $defs: { list: { type: "array", items: { $ref: "#/$defs/list" } } }, $ref: "#/$defs/list" }
      const nested = (depth: number) =>
        Array.from({ length: depth }).reduce<ReadonlyArray<unknown>>((inner) => [inner], [])
      yield* schemas.checkResult(lists, result(nested(500)))
      const [deep] = yield* detailsOf(schemas.checkResult(lists, result(nested(100_000))))
      assert.include(deep?.msg, "nested too deeply")
      const broken = {
        get name() {
          throw new Error("gone")
        }
      }
      const named = { type: "object", properties: { name: { type: "string" } } }
      const [unread] = yield* detailsOf(schemas.checkResult(named, result(broken)))
      assert.include(unread?.msg, "cannot be read")
    })
  )
)

it.live("each value of an enum is accepted and no other, and items count as equal only where they are", () =>
  run(
    Effect.gen(function* () {
      const schemas = yield* ResultSchemas
      const values = ["low", "high", "a much longer text", { of: "a member" }, ["a list"], 7, true, null]
      for (const value of values) yield* schemas.checkResult({ enum: values }, result(value))
      for (const value of ["", "lo", "a much longer tex", { of: "another" }, ["a list", 1], "7", false])
        assert.lengthOf(yield* detailsOf(schemas.checkResult({ enum: values }, result(value))), 1)
      yield* schemas.checkResult({ uniqueItems: true }, result(values))
      for (const value of values)
        assert.lengthOf(yield* detailsOf(schemas.checkResult({ uniqueItems: true }, result([...values, value]))), 1)
    })
  )
)
