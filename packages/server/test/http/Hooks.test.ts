import { createHmac } from "node:crypto"
import { assert, describe, layer } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import { hookCalls } from "@reins/testing/Volume"
import { Effect } from "effect"
import fc from "fast-check"
import { Webhook } from "standardwebhooks"
import { Caller, change, codeOf, send, service } from "../Service.js"

const field = (json: unknown, name: string): string => String(Object(json)[name])

/** A workspace with a hook and an automation that it rings. */
const hooked = (kind: string) =>
  Effect.gen(function* () {
    const { bearer } = yield* Caller
    const { json } = yield* send("GET", "/api/workspaces", { headers: bearer })
    const workspace = `/api/workspaces/${field(Object(json).items[0], "id")}`
    const hook = yield* change("POST", `${workspace}/hooks`, { headers: bearer, body: { kind, label: "forge" } })
    assert.strictEqual(hook.status, 201, hook.text)
    const hook_id = field(hook.json, "id")
    const automation = yield* change("POST", `${workspace}/automations`, {
      headers: bearer,
      body: { name: "Rung", trigger: { kind: "hook", hook_id }, target: { kind: "new_session", message: "Go." } }
    })
    assert.strictEqual(automation.status, 201, automation.text)
    /** A workspace has few hooks and automations, so a test that needs many gives them back. */
    const remove = Effect.forEach(
      [`/api/hooks/${hook_id}`, `/api/automations/${field(automation.json, "id")}`],
      (each) => change("DELETE", each, { headers: bearer })
    )
    return { bearer, hook_id, path: field(hook.json, "path"), remove, secret: field(hook.json, "secret") }
  })

/** The calls of one hook in a minute are bounded, so that more of them need another hook. */
const callsOfHook = 290

const count = Effect.flatMap(Database, ({ first, sql }) =>
  first(sql<{ count: number }>`select cast(count(*) as integer) as count from automation_runs`)
)

describe("the address that the world calls", () => {
  layer(service(), { excludeTestServices: true })("takes", (it) => {
    it.effect("what is signed, once, and tells nothing to others", () =>
      Effect.gen(function* () {
        const { bearer, hook_id, path, secret } = yield* hooked("standard")
        const body = '{"type":"deploy.failed","service":"shop"}'
        const headers = (id: string, by = secret) => ({
          "content-type": "application/json; charset=utf-8",
          "webhook-id": id,
          "webhook-timestamp": String(Math.floor(Date.now() / 1000)),
          "webhook-signature": new Webhook(by).sign(id, new Date(Math.floor(Date.now() / 1000) * 1000), body)
        })
        const answers = yield* Effect.forEach(
          Array.from({ length: 25 }),
          () => send("POST", path, { headers: headers("msg_1"), body }),
          { concurrency: 5 }
        )
        assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([202]))
        assert.lengthOf(
          answers.filter(({ json }) => field(json, "outcome") === "accepted"),
          1
        )
        assert.strictEqual((yield* count)?.count, 1)
        const other = `whsec_${Buffer.alloc(32).toString("base64")}`
        const refused = [
          yield* send("POST", path, { headers: headers("msg_2", other), body }),
          yield* send("POST", "/api/hooks/hook_01jz0000000000000000000000", { headers: headers("msg_2"), body })
        ]
        const told = refused.map(({ json, status }) => [status, Object(json).error?.code, Object(json).error?.message])
        assert.deepStrictEqual(told[0], told[1])
        assert.strictEqual(told[0]?.[0], 404)
        // A proven call that is no JSON leaves a receipt, and a body that nobody has read one that nothing proves.
        const form = { headers: { ...headers("msg_3"), "content-type": "application/x-www-form-urlencoded" }, body }
        assert.strictEqual((yield* send("POST", path, form)).status, 415)
        const large = { headers: headers("msg_4"), body: "x".repeat(5 * 1024 * 1024 + 1) }
        assert.strictEqual(codeOf(yield* send("POST", path, large)), "payload_too_large")
        const receipts = yield* send("GET", `/api/hooks/${hook_id}/receipts`, { headers: bearer })
        const [tooLarge, noJson, taken] = Object(receipts.json).items
        assert.deepInclude(taken, { event: "deploy.failed", outcome: "accepted", runs: 1, proven: true, queued: 0 })
        assert.deepInclude(noJson, { delivery_id: "msg_3", outcome: "unread", reason: "no_json", proven: true })
        assert.deepInclude(tooLarge, { delivery_id: "msg_4", outcome: "unread", reason: "too_large", proven: false })
        assert.strictEqual(tooLarge.size, large.body.length)
      })
    )

    it.effect(
      "random bodies and headers without a run and without a fault",
      () =>
        Effect.gen(function* () {
          const before = (yield* count)?.count
          const signatures = [
            "x-hub-signature-256",
            "x-hub-signature",
            "webhook-signature",
            "webhook-id",
            "authorization"
          ]
          const value = fc.string({ maxLength: 60 }).map((text) => text.replaceAll(/[^\x20-\x7e]/g, "~").trim())
          const calls = fc.sample(
            fc.record({
              headers: fc.dictionary(fc.constantFrom(...signatures, "x-github-delivery", "x-github-event"), value, {
                maxKeys: 7
              }),
              body: fc.oneof(fc.json(), fc.string({ maxLength: 300 }))
            }),
            hookCalls
          )
          const parts = Array.from({ length: Math.ceil(hookCalls / callsOfHook) }, (_, part) =>
            calls.slice(part * callsOfHook, (part + 1) * callsOfHook)
          )
          for (const part of parts) {
            const { path, remove, secret } = yield* hooked("github")
            for (const { body, headers } of part) {
              const type = { "content-type": "application/json" }
              const { status } = yield* send("POST", path, { headers: { ...type, ...headers }, body })
              assert.oneOf(status, [404], JSON.stringify({ headers, body }))
              // The same body with a right signature is taken, or is no JSON.
              const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`
              const known = {
                ...type,
                "x-hub-signature-256": signature,
                "x-github-delivery": "one",
                "x-github-event": "x"
              }
              assert.oneOf((yield* send("POST", path, { headers: known, body })).status, [202, 415])
            }
            yield* remove
          }
          assert.isAtMost((yield* count)?.count ?? 0, (before ?? 0) + parts.length)
        }).pipe(Effect.timeout("30 minutes")),
      1_800_000
    )
  })
})
