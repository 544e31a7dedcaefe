import { readFileSync } from "node:fs"
import { assert, describe, layer } from "@effect/vitest"
import { Server } from "@reins/server/Server"
import { Effect, Layer } from "effect"
import { flowServices } from "../Databases.js"
import { newKey, send } from "../Service.js"
import { mutations, type Operation, operations } from "./Document.js"
import { exampleOf } from "./Examples.js"
import { newTenant } from "./Tenant.js"
import { allowGateway, Gateway, type Tenant } from "./TenantParts.js"

/** The answers that FastAPI was seen to give, by the name of the case. */
const golden = new Map(
  readFileSync(new URL("../spec/validation-golden.txt", import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line): [string, { readonly status: number; readonly text: string }] => {
      const [, name = "", status = "", text = ""] = /^(.+?) {2,}(\d{3}) application\/json (.+)$/.exec(line) ?? []
      return [name, { status: Number(status), text }]
    })
)

const expected = (name: string) => golden.get(name) ?? assert.fail(`there is no golden pair "${name}"`)

const queries: Readonly<Record<string, string>> = {
  "limit=abc": "limit=abc",
  "limit= (empty)": "limit=",
  "limit=1.5": "limit=1.5",
  "limit=10.0": "limit=10.0",
  "after=null": "after=null",
  "after= (empty)": "after=",
  "max_seconds=x": "max_seconds=x",
  "max_seconds=inf": "max_seconds=inf",
  "two errors": "limit=a&after=b",
  "limit twice": "limit=5&limit=x"
}

const json = "application/json"

/** The body and the content type of a request. */
const bodies: Readonly<Record<string, readonly [string, string | undefined]>> = {
  "bad json": ['{"a":', json],
  "body array": ["[1]", json],
  "body null": ["null", json],
  "body string": ['"x"', json],
  "empty body json ct": ["", json]
}

/** Bodies that FastAPI reads as text, and that are refused by their type here. */
const otherBodies: typeof bodies = {
  "text/plain": ["{}", "text/plain"],
  "no content-type": ["{}", undefined]
}

/** Sends bytes, so that no content type is added, with a key of their own. */
const raw = (operation: Operation, path: string, caller: Readonly<Record<string, string>>, name: string) =>
  Effect.flatMap(Server, ({ url }) =>
    Effect.promise(async () => {
      const [body, type] = bodies[name] ?? otherBodies[name] ?? assert.fail(name)
      const response = await fetch(url + path, {
        method: operation.method,
        headers: { ...caller, "idempotency-key": newKey(), ...(type !== undefined && { "content-type": type }) },
        body: new TextEncoder().encode(body)
      })
      return { status: response.status, text: await response.text() }
    })
  )

const requiresBody = mutations.filter(({ requestBody }) => requestBody?.required === true)
const mayLackBody = mutations.filter(({ requestBody }) => requestBody?.required === false)

describe("a malformed request", () => {
  for (const { database, layer: service } of flowServices(allowGateway)) {
    layer(Layer.provideMerge(service, Gateway.layer), { excludeTestServices: true })(
      `is answered as FastAPI does on ${database}`,
      (it) => {
        let shared: Tenant
        const prepare = Effect.gen(function* () {
          shared ??= yield* newTenant
          return shared
        })

        it.effect("in every way that was recorded", () =>
          Effect.sync(() =>
            assert.sameMembers(
              [...golden.keys()],
              [queries, bodies, otherBodies].flatMap(Object.keys).concat("path missing", "no key, no body")
            )
          )
        )

        for (const [name, query] of Object.entries(queries)) {
          it.effect(`query ${name}`, () =>
            Effect.gen(function* () {
              const { ids, person } = yield* prepare
              const path = `/api/sessions/${ids["session_id"]}/events?${query}`
              const reply = yield* send("GET", path, { headers: person.bearer })
              const { status, text } = expected(name)
              assert.strictEqual(reply.status, status)
              if (status === 422) assert.strictEqual(reply.text, text)
            })
          )
        }

        it.effect("path missing", () =>
          Effect.gen(function* () {
            const { ids, person } = yield* prepare
            const reply = yield* send("GET", `/api/sessions/${ids["session_id"]}/files/content`, {
              headers: person.bearer
            })
            assert.deepStrictEqual({ status: reply.status, text: reply.text }, expected("path missing"))
          })
        )

        for (const operation of requiresBody) {
          it.effect(`the body of ${operation.name}`, () =>
            Effect.gen(function* () {
              const tenant = yield* prepare
              const { headers, path } = yield* exampleOf(operation, tenant)
              const without = yield* send(operation.method, path, { headers })
              assert.deepStrictEqual({ status: without.status, text: without.text }, expected("no key, no body"))
              for (const name of Object.keys(bodies))
                assert.deepStrictEqual(yield* raw(operation, path, headers, name), expected(name), name)
              for (const name of Object.keys(otherBodies))
                assert.strictEqual((yield* raw(operation, path, headers, name)).status, 415, name)
            })
          )
        }

        for (const operation of mayLackBody) {
          it.effect(`the body of ${operation.name}, when there is one`, () =>
            Effect.gen(function* () {
              const tenant = yield* prepare
              const { headers, path } = yield* exampleOf(operation, tenant)
              for (const name of ["bad json", "body array", "body string"])
                assert.deepStrictEqual(yield* raw(operation, path, headers, name), expected(name), name)
              for (const name of Object.keys(otherBodies))
                assert.strictEqual((yield* raw(operation, path, headers, name)).status, 415, name)
            })
          )
        }

        it.effect("is told all of, in the order of path, query, header and body", () =>
          Effect.gen(function* () {
            const tenant = yield* prepare
            const operation = operations.find(({ name }) => name === "POST /api/sessions/{session_id}/delegations")
            const { headers, path } = yield* exampleOf(operation ?? assert.fail(), tenant)
            const reply = yield* send("POST", path, {
              headers: { ...headers, "content-type": json },
              body: { role: "", instructions: 7, deadline_seconds: "soon", result_schema: [] }
            })
            assert.strictEqual(reply.status, 422)
            assert.deepStrictEqual(
              detailsOf(reply.json).map(({ loc }) => loc),
              [
                ["header", "Idempotency-Key"],
                ["body", "role"],
                ["body", "instructions"],
                ["body", "result_schema"],
                ["body", "deadline_seconds"]
              ]
            )
          })
        )

        it.effect("is refused for a character or a name that cannot be kept, wherever it stands", () =>
          Effect.gen(function* () {
            const { ids, person } = yield* prepare
            const headers = { ...person.bearer, "idempotency-key": newKey() }
            for (const [name, text] of [
              ["a", "b\u0000c"],
              ["a", "b\ud83dc"],
              ["a", "b\ude00"],
              ["a\u0000", "b"],
              ["a\ud83d", "b"],
              ["__proto__", "b"]
            ] as const) {
              const body = yield* send("PATCH", `/api/sessions/${ids["session_id"]}`, {
                headers,
                body: { labels: { [name]: text } }
              })
              assert.strictEqual(body.status, 422)
              assert.deepStrictEqual(detailsOf(body.json)[0]?.loc, ["body", "labels", name])
            }
            const whole = yield* send("PATCH", `/api/sessions/${ids["session_id"]}`, {
              headers,
              body: { labels: { "\u{1f600}": "b\u{1f600}" } }
            })
            assert.deepStrictEqual([whole.status, Object(whole.json).labels], [200, { "\u{1f600}": "b\u{1f600}" }])
            const query = yield* send("GET", `/api/sessions/${ids["session_id"]}/events?turn_id=a%00b`, { headers })
            assert.deepStrictEqual([query.status, detailsOf(query.json)[0]?.loc], [422, ["query", "turn_id"]])
            assert.strictEqual((yield* send("GET", "/api/sessions/a%00b", { headers })).status, 404)
          })
        )
      }
    )
  }
})

const detailsOf = (value: unknown): ReadonlyArray<{ readonly loc: unknown }> =>
  typeof value === "object" && value !== null && "detail" in value && Array.isArray(value.detail)
    ? value.detail
    : assert.fail("no detail")
