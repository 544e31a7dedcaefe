import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { HttpApi } from "@effect/platform"
import { assert, describe, layer } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { NotReplayed } from "@reins/base/domain/Endpoint"
import { Api } from "@reins/core/Api"
import { everythingStored } from "@reins/testing/identity/Identity"
import { Context, Effect, Layer, Option } from "effect"
import { flowServices } from "../Databases.js"
import { codeOf, newKey, password, type Reply, send } from "../Service.js"
import { problemOf } from "./Answers.js"
import { mutations, type Operation } from "./Document.js"
import { type Example, exampleOf, hasExample } from "./Examples.js"
import { newTenant } from "./Tenant.js"
import { allowGateway, Gateway, type Tenant } from "./TenantParts.js"

const notReplayed = new Set<string>()
HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) => {
    if (Option.isSome(Context.getOption(endpoint.annotations, NotReplayed)))
      notReplayed.add(`${endpoint.method} ${endpoint.path.replace(/:(\w+)/g, "{$1}")}`)
  }
})

/** An account that is deleted has no login any more with which its deletion could be repeated. */
const endsItsCaller = "POST /api/auth/account-deletions"

const isPublic = (operation: Operation) => operation.security.length === 0

const sent = (operation: Operation, example: Example, key: string, more: Partial<Example> = {}) => {
  const { body, headers, path } = { ...example, ...more }
  return send(operation.method, path, {
    headers: { ...headers, "idempotency-key": key },
    ...(body !== undefined && { body })
  })
}

/** The same request with something else in it: a field that nobody knows, or a query where no body is read. */
const altered = (operation: Operation, example: Example): Partial<Example> =>
  operation.requestBody === undefined
    ? { path: `${example.path}?another=1` }
    : { body: typeof example.body === "object" ? { ...example.body, x_other: 1 } : { x_other: 1 } }

const expectSuccess = (operation: Operation, reply: Reply) => {
  assert.isBelow(reply.status, 300, reply.text)
  const contentType = reply.headers.get("content-type") ?? undefined
  assert.isUndefined(problemOf(operation, { status: reply.status, contentType, text: reply.text }))
}

for (const { database, layer: service } of flowServices(allowGateway)) {
  describe(`on ${database}`, () => {
    layer(Layer.provideMerge(service, Gateway.layer), { excludeTestServices: true })("a change", (it) => {
      let tenant: Tenant
      let other: Tenant
      const prepare = Effect.gen(function* () {
        tenant ??= yield* newTenant
        other ??= yield* newTenant
        return { tenant, other }
      })

      it.effect("has an example for every mutation of the API", () =>
        Effect.sync(() =>
          assert.deepStrictEqual(
            mutations.filter((operation) => !hasExample(operation)).map(({ name }) => name),
            []
          )
        )
      )

      for (const operation of mutations.filter(({ name }) => !notReplayed.has(name) && name !== endsItsCaller)) {
        it.effect(`${operation.name} happens once for its key`, () =>
          Effect.gen(function* () {
            const { other, tenant } = yield* prepare
            const example = yield* exampleOf(operation, tenant)
            const key = newKey()
            const first = yield* sent(operation, example, key)
            expectSuccess(operation, first)
            assert.isNull(first.headers.get("idempotency-replayed"))

            const again = yield* sent(operation, example, key)
            assert.deepStrictEqual([again.status, again.text], [first.status, first.text])
            assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
            assert.strictEqual(again.headers.get("content-type"), first.headers.get("content-type"))

            const conflict = yield* sent(operation, example, key, altered(operation, example))
            assert.deepStrictEqual([conflict.status, codeOf(conflict)], [409, "idempotency_conflict"])

            // The key of somebody else is another key: neither replayed nor in conflict.
            if (isPublic(operation)) return
            const stranger = yield* sent(operation, example, key, { headers: other.person.bearer })
            assert.isNull(stranger.headers.get("idempotency-replayed"))
            assert.notInclude(["idempotency_conflict", "idempotency_in_progress"], codeOf(stranger))
          })
        )
      }

      for (const operation of mutations.filter(({ name }) => notReplayed.has(name))) {
        it.effect(`${operation.name} is done anew each time`, () =>
          Effect.gen(function* () {
            const { tenant } = yield* prepare
            const example = yield* exampleOf(operation, tenant)
            const key = newKey()
            for (const _ of [1, 2]) {
              const reply = yield* sent(operation, example, key)
              expectSuccess(operation, reply)
              assert.isNull(reply.headers.get("idempotency-replayed"))
            }
          })
        )
      }

      for (const operation of mutations) {
        it.effect(`${operation.name} refuses a key that is missing or malformed`, () =>
          Effect.gen(function* () {
            const { tenant } = yield* prepare
            const example = yield* exampleOf(operation, tenant)
            const cases: ReadonlyArray<readonly [Record<string, string>, string]> = [
              [{}, "missing"],
              [{ "idempotency-key": "" }, "string_too_short"],
              [{ "idempotency-key": "k".repeat(256) }, "string_too_long"],
              [{ "idempotency-key": "cl\u00e9" }, "string_pattern_mismatch"]
            ]
            for (const [header, type] of cases) {
              const { body, path } = example
              const reply = yield* send(operation.method, path, {
                headers: { ...example.headers, ...header },
                ...(body !== undefined && { body })
              })
              assert.strictEqual(reply.status, 422)
              assert.nestedPropertyVal(reply.json, "detail.length", 1)
              assert.nestedPropertyVal(reply.json, "detail[0].type", type)
              assert.deepNestedPropertyVal(reply.json, "detail[0].loc", ["header", "Idempotency-Key"])
            }
          })
        )
      }

      const listed: ReadonlyArray<readonly [string, (tenant: Tenant) => string]> = [
        ["POST /api/api-keys", () => "/api/api-keys"],
        [
          "POST /api/workspaces/{workspace_id}/projects",
          ({ ids }) => `/api/workspaces/${ids["workspace_id"]}/projects`
        ],
        [
          "POST /api/workspaces/{workspace_id}/sessions",
          ({ ids }) => `/api/workspaces/${ids["workspace_id"]}/sessions`
        ],
        ["POST /api/sessions/{session_id}/messages", ({ ids }) => `/api/sessions/${ids["session_id"]}/messages`]
      ]
      for (const [name, list] of listed) {
        it.effect(`${name} sent 25 times at once makes one resource`, () =>
          Effect.gen(function* () {
            const { tenant } = yield* prepare
            const operation = mutations.find((candidate) => candidate.name === name) ?? assert.fail(name)
            const example = yield* exampleOf(operation, tenant)
            const path = list({ ...tenant, ids: { ...tenant.ids, ...idsIn(example.path) } })
            const count = Effect.map(
              send("GET", `${path}?limit=200`, { headers: tenant.person.bearer }),
              ({ json }) => listOf(json).length
            )
            const before = yield* count
            const key = newKey()
            const replies = yield* Effect.all(
              Array.from({ length: 25 }, () => sent(operation, example, key)),
              { concurrency: "unbounded" }
            )
            const done = replies.filter(({ status }) => status < 300)
            assert.isAtLeast(done.length, 1)
            assert.strictEqual(new Set(done.map(({ text }) => text)).size, 1)
            for (const reply of replies) {
              if (reply.status >= 300)
                assert.deepStrictEqual([reply.status, codeOf(reply)], [409, "idempotency_in_progress"])
            }
            assert.strictEqual((yield* count) - before, 1)
          })
        )
      }

      it.effect("leaves no secret that was sent or answered readable in the database or the data directory", () =>
        Effect.gen(function* () {
          const { tenant } = yield* prepare
          const operation = mutations.find(({ name }) => name === "POST /api/api-keys") ?? assert.fail()
          const issued = yield* sent(operation, yield* exampleOf(operation, tenant), newKey())
          const secret = /rk_\w{49}/.exec(issued.text)?.[0] ?? assert.fail("no secret")
          const secrets = [secret, password, "a loud heron at dawn", "canary-"]
          const stored = yield* everythingStored
          for (const text of secrets) assert.notInclude(stored, text)
          const { dataDir } = yield* CoreConfig
          for (const file of filesBelow(dataDir)) {
            const bytes = readFileSync(file)
            for (const text of secrets) assert.isFalse(bytes.includes(text), `${text} in ${file}`)
          }
        })
      )
    })
  })
}

const idsIn = (path: string): Readonly<Record<string, string>> => {
  const session = /\/sessions\/(sess_\w+)/.exec(path)?.[1]
  return session === undefined ? {} : { session_id: session }
}

const listOf = (json: unknown): ReadonlyArray<unknown> =>
  typeof json === "object" && json !== null && "items" in json && Array.isArray(json.items) ? json.items : assert.fail()

const filesBelow = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { withFileTypes: true, recursive: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : []
  )
