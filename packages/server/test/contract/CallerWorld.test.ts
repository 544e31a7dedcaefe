import { assert, describe, layer } from "@effect/vitest"
import type { Change } from "@reins/testing/world/Answer"
import { tenthOf, tryBorder } from "@reins/testing/world/Border"
import { changesOfField, pathsIn } from "@reins/testing/world/Changes"
import { inJson } from "@reins/testing/world/Speaker"
import { Effect, Layer } from "effect"
import { flowServices } from "../Databases.js"
import { change as changing } from "../Service.js"
import { mutations, type Operation } from "./Document.js"
import { type Example, exampleOf } from "./Examples.js"
import { newTenant } from "./Tenant.js"
import { allowGateway, Gateway } from "./TenantParts.js"

const told = (json: unknown): ReadonlyArray<ReadonlyArray<string>> => {
  const { detail }: { readonly detail?: unknown } = typeof json === "object" && json !== null ? json : {}
  return Array.isArray(detail) ? detail.map(({ loc }) => loc.slice(1).map(String)) : []
}

/** True where one way to a field is the beginning of the other. */
const isOnWay = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean =>
  one.slice(0, other.length).every((step, at) => step === other[at])

/** Bodies in another way: a text that is no JSON, or JSON of another form. */
const ofBody: ReadonlyArray<Change> = [
  {
    name: "the body cut in its middle",
    kind: "lost",
    apply: (a) => ({ ...a, text: a.text.slice(0, a.text.length / 2) })
  },
  { name: "the body with spaces around", kind: "same", apply: (a) => ({ ...a, text: `\r\n ${a.text}\n` }) },
  { name: "the body twice", kind: "lost", apply: (a) => ({ ...a, text: a.text + a.text }) },
  { name: "the body null", kind: "lost", apply: (a) => ({ ...a, text: "null" }) },
  { name: "the body a list", kind: "lost", apply: (a) => ({ ...a, text: `[${a.text}]` }) }
]

/** The ways that a database may not take. */
const ofDatabases = /alphabets|NUL|100,000|control/

const requiring = mutations.filter(({ requestBody }) => requestBody?.required === true)

describe("the world of callers", () => {
  for (const { database, layer: service } of flowServices(allowGateway)) {
    layer(Layer.provideMerge(service, Gateway.layer), { excludeTestServices: true, timeout: 240_000 })((it) => {
      it.effect(`each field of requests, on ${database}`, () =>
        Effect.gen(function* () {
          const tenant = yield* newTenant
          let all = 0
          for (const operation of requiring) all += yield* tried(operation, tenant, database)
          assert.isAbove(all, 5)
        })
      )
    })
  }
})

const tried = (operation: Operation, tenant: Parameters<typeof exampleOf>[1], database: string) =>
  Effect.gen(function* () {
    let example: Example | undefined = yield* exampleOf(operation, tenant)
    const paths = pathsIn(example.body)
    const ofFields = paths.flatMap((path) => changesOfField(path).map((change) => ({ change, path: path.map(String) })))
    const isHere = ({ name }: Change) => database === "SQLite" || ofDatabases.test(name)
    const { tried, wrong } = yield* tryBorder({
      name: `callers on ${database}: ${operation.name}`,
      changes: tenthOf([...ofFields.map(({ change }) => change), ...ofBody].filter(isHere)),
      ask: (change) =>
        Effect.gen(function* () {
          const present: Example = example ?? (yield* exampleOf(operation, tenant))
          example = present
          const { body, headers, path } = present
          const { text } = change.apply({ ...inJson, text: JSON.stringify(body) })
          const reply = yield* changing(operation.method, path, {
            headers: { "content-type": "application/json", ...headers },
            body: text
          })
          // What has succeeded may not be done again.
          if (reply.status < 300) example = undefined
          if (reply.status >= 500) return [`${reply.status}: ${reply.text.slice(0, 200)}`]
          if (ofBody.includes(change)) return change.kind === "lost" && reply.status < 300 ? ["it is taken"] : []
          const { path: field = [] } = ofFields.find((each) => each.change === change) ?? {}
          const named = told(reply.json)
          // A refusal by what there is comes in the envelope of errors.
          if (reply.status !== 422 || named.length === 0) return []
          return named.some((loc) => isOnWay(loc, field) || isOnWay(field, loc)) ? [] : [`it names ${named.join(", ")}`]
        })
    })
    assert.deepStrictEqual(wrong, [])
    return tried
  })
