import { HttpApi } from "@effect/platform"
import { GivenTimestamp, Timestamp } from "@reins/base/domain/Timestamp"
import { Api } from "@reins/core/Api"
import { type SchemaAST as AST, Option } from "effect"
import { assert, describe, it } from "vitest"

type Times = { readonly strict: ReadonlyArray<string>; readonly given: ReadonlyArray<string> }

const none: Times = { strict: [], given: [] }

const both = (all: ReadonlyArray<Times>): Times => ({
  strict: all.flatMap(({ strict }) => strict),
  given: all.flatMap(({ given }) => given)
})

/** The paths of the times that a schema takes: those in our own form alone, and those in any form. A transformation takes its first side. */
const timesOf = (ast: AST.AST, path: string, above: ReadonlySet<AST.AST> = new Set()): Times => {
  if (above.has(ast)) return none
  const inside = (part: AST.AST, name = "") => timesOf(part, `${path}${name}`, new Set(above).add(ast))
  if (ast === Timestamp.ast) return { strict: [path], given: [] }
  if (ast === GivenTimestamp.from.ast) return { strict: [], given: [path] }
  switch (ast._tag) {
    case "Refinement":
    case "Transformation":
      return inside(ast.from)
    case "Suspend":
      return inside(ast.f())
    case "Union":
      return both(ast.types.map((member) => inside(member)))
    case "TupleType":
      return both([...ast.elements, ...ast.rest].map(({ type }) => inside(type, "[]")))
    case "TypeLiteral":
      return both([
        ...ast.propertySignatures.map(({ name, type }) => inside(type, `.${String(name)}`)),
        ...ast.indexSignatures.map(({ type }) => inside(type, ".*"))
      ])
    default:
      return none
  }
}

describe("the times that a request gives", () => {
  it("are taken at any offset and without milliseconds, in every operation", () => {
    const found: Array<Times> = []
    HttpApi.reflect(Api, {
      onGroup: () => {},
      onEndpoint: ({ endpoint, payloads }) => {
        for (const { ast } of payloads.values()) found.push(timesOf(ast, endpoint.name))
        for (const ast of Option.match(endpoint.urlParamsSchema, { onNone: () => [], onSome: ({ ast }) => [ast] }))
          found.push(timesOf(ast, endpoint.name))
      }
    })
    const { given, strict } = both(found)
    assert.deepStrictEqual(strict, [])
    assert.includeMembers([...given], ["share.expires_at", "create.trigger.at"])
    assert.isAbove(given.length, 5)
  })
})
