import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { change, newKey, password, send, service } from "../Service.js"
import { mutations } from "./Document.js"
import { exampleOf } from "./Examples.js"
import { newTenant } from "./Tenant.js"
import { allowGateway, Gateway, type Tenant } from "./TenantParts.js"

const secrets = [password, "a loud heron at dawn", "canary-"]

const holdsSecret = (text: string): boolean => secrets.some((secret) => text.includes(secret))

/** The body with one field after the other left out, and of a kind that it cannot have. */
const spoiled = (body: object): ReadonlyArray<object> =>
  Object.keys(body).flatMap((spoilt) => {
    const rest = Object.fromEntries(Object.entries(body).filter(([name]) => name !== spoilt))
    return [rest, ...[[body], 5, { a: body }].map((value) => ({ ...rest, [spoilt]: value }))]
  })

describe("a malformed request", () => {
  layer(Layer.provideMerge(service(allowGateway), Gateway.layer), { excludeTestServices: true })("is told of", (it) => {
    let shared: Tenant
    const prepare = Effect.gen(function* () {
      shared ??= yield* newTenant
      return shared
    })

    it.effect("without a secret of its body", () =>
      Effect.gen(function* () {
        const tenant = yield* prepare
        const checked: Array<string> = []
        for (const operation of mutations) {
          const { body, headers, path } = yield* exampleOf(operation, tenant)
          if (typeof body !== "object" || body === null || !holdsSecret(JSON.stringify(body))) continue
          checked.push(operation.name)
          const asText = { headers: { ...headers, "content-type": "text/plain" }, body: JSON.stringify(body) }
          const replies = [
            yield* change(operation.method, path, asText),
            ...(yield* Effect.forEach([...spoiled(body), [body]], (sent) =>
              change(operation.method, path, { headers, body: sent })
            ))
          ]
          assert.isAbove(replies.filter(({ status }) => status === 422).length, 4, operation.name)
          for (const { text } of replies) assert.isFalse(holdsSecret(text), `${operation.name} ${text}`)
        }
        const account = { email: "first@example.com", password, setup_code: ["canary-code"] }
        const { status, text } = yield* change("POST", "/api/auth/register", { headers: {}, body: account })
        assert.deepStrictEqual([status, holdsSecret(text)], [422, false], text)
        assert.sameMembers(checked, [
          "POST /api/auth/register",
          "POST /api/auth/login",
          "POST /api/auth/password-changes",
          "POST /api/auth/account-deletions",
          "POST /api/workspaces/{workspace_id}/connections",
          "POST /api/connections/{connection_id}/credential-versions",
          "PUT /api/projects/{project_id}/secrets/{name}"
        ])
      })
    )

    it.effect("in an answer that stays small, however large the body is", () =>
      Effect.gen(function* () {
        const { ids, person } = yield* prepare
        const upload = yield* send("POST", `/api/sessions/${ids["session_id"]}/file-uploads`, {
          headers: { ...person.bearer, "idempotency-key": newKey() },
          body: { content: "x".repeat(30 * 1024 * 1024) }
        })
        assert.strictEqual(upload.status, 422)
        assert.isBelow(upload.text.length, 10_000)
        const message = yield* send("POST", `/api/sessions/${ids["session_id"]}/messages`, {
          headers: { ...person.bearer, "idempotency-key": newKey() },
          body: { content: Array.from({ length: 300_000 }, () => ({})) }
        })
        assert.strictEqual(message.status, 422)
        assert.isBelow(message.text.length, 100_000)
      })
    )
  })
})
