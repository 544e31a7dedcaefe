import { createHmac } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { newId, WorkspaceId } from "@reins/base/domain/Ids"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { FilterPreviews } from "@reins/core/automations/FilterPreviews"
import { holds, wants } from "@reins/core/automations/Filters"
import { HookReceiving } from "@reins/core/hooks/HookReceiving"
import { Hooks } from "@reins/core/hooks/Hooks"
import { Database } from "@reins/core/store/Database"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import * as fc from "fast-check"
import { stranger } from "../identity/Principals.js"
import { given } from "./Automated.js"

const issue = { action: "labeled", label: { name: "reins" }, issue: { number: 12, title: "The total is wrong" } }

const wanted = {
  events: ["issues"],
  filter: [
    { pointer: "/action", is: "labeled" },
    { pointer: "/label/name", is: "reins" }
  ],
  pick: ["/issue/title"],
  closes: "/issue/number"
}

const codeOf = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error) => (error instanceof ReinsError ? error.code : "invalid"))

const countRuns = Effect.flatMap(Database, ({ first, sql }) =>
  first(sql<{ count: number }>`select cast(count(*) as integer) as count from automation_runs`)
)

for (const { layer, name } of flowDatabases)
  describe(`previews of filters on ${name}`, () => {
    it.scopedLive("say whether a delivery that came would begin a run, and with which data; nothing begins", () =>
      Effect.gen(function* () {
        const { add, principal, workspaceId } = yield* given
        const hooks = yield* Hooks
        const hook = yield* hooks.create(principal, workspaceId, { kind: "github", label: "forge" })
        const { events, filter, pick } = wanted
        yield* add({ trigger: { kind: "hook", hook_id: hook.id, events: ["none"], filter, pick } })
        const body = Buffer.from(JSON.stringify(issue))
        const headers: Readonly<Record<string, string>> = {
          "x-hub-signature-256": `sha256=${createHmac("sha256", hook.secret).update(body).digest("hex")}`,
          "x-github-delivery": "d1",
          "x-github-event": "issues"
        }
        const came = yield* (yield* HookReceiving).receive(hook.id, { header: (header) => headers[header], body })
        assert.strictEqual(came.outcome, "ignored")
        const previews = yield* FilterPreviews
        const receipt = { receipt_id: came.receipt_id }
        assert.deepStrictEqual(yield* previews.preview(principal, workspaceId, { ...wanted, ...receipt }), {
          matches: true,
          event: "issues",
          event_matches: true,
          conditions: [
            { pointer: "/action", holds: true, found: '"labeled"' },
            { pointer: "/label/name", holds: true, found: '"reins"' }
          ],
          data: '"/issue/title": "The total is wrong"',
          closes: 12
        })
        const other = { events: ["push"], filter: [{ pointer: "/action", is: "opened" }, { pointer: "/none" }] }
        assert.deepInclude(yield* previews.preview(principal, workspaceId, { ...other, ...receipt, pick: [] }), {
          matches: false,
          event_matches: false,
          conditions: [
            { pointer: "/action", holds: false, found: '"labeled"' },
            { pointer: "/none", holds: false, found: null }
          ],
          data: null
        })
        assert.strictEqual((yield* countRuns)?.count, 0)

        const unknown = yield* newId(WorkspaceId)
        assert.strictEqual(yield* codeOf(previews.preview(principal, unknown, receipt)), "not_found")
        assert.strictEqual(yield* codeOf(previews.preview(yield* stranger, workspaceId, receipt)), "not_found")
        assert.strictEqual(yield* codeOf(previews.preview(principal, workspaceId, { events })), "invalid")
        const both = { ...receipt, body: issue }
        assert.strictEqual(yield* codeOf(previews.preview(principal, workspaceId, both)), "invalid")
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("say of any sample what a call with it would do", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* given
        const { preview } = yield* FilterPreviews
        const samples = fc.sample(fc.tuple(fc.jsonValue(), fc.constantFrom("", "/a", "/0", "/a/0")), 20)
        for (const [body, pointer] of samples) {
          const condition = { pointer, exists: true }
          const shown = yield* preview(principal, workspaceId, { filter: [condition], body })
          assert.strictEqual(shown.matches, wants({ filter: [condition] }, { event: null, body }))
          assert.strictEqual(shown.conditions[0]?.holds, holds(condition, body))
        }
      }).pipe(Effect.provide(services(layer)))
    )
  })
