import { assert, describe, it } from "@effect/vitest"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { AutomationRuns } from "@reins/core/automations/AutomationRuns"
import { Automations } from "@reins/core/automations/Automations"
import { wordsForgottenJob } from "@reins/core/deletion/WordsForgottenJob"
import { HookReceiving } from "@reins/core/hooks/HookReceiving"
import { Hooks } from "@reins/core/hooks/Hooks"
import { automationMailTo } from "@reins/core/identity/MailJob"
import { JobStore } from "@reins/core/jobs/JobStore"
import * as Worker from "@reins/core/jobs/Worker"
import type { Command } from "@reins/core/store/Command"
import { Database } from "@reins/core/store/Database"
import { Idempotency } from "@reins/core/store/Idempotency"
import { Journal } from "@reins/core/store/Journal"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { rowsHolding } from "./Traces.js"

/** The end of all words that an automation and its hook are full of. None of them may be found after them. */
const mark = "wqcanary"

/** Works until the words are forgotten. */
const forgotten = Effect.gen(function* () {
  const { first, sql } = yield* Database
  const due = Effect.suspend(() =>
    first(sql`select id from jobs where kind = 'words.forget' and state in ('queued', 'running', 'retry_wait') limit 1`)
  )
  yield* Effect.repeat(Effect.delay(due, "5 millis"), { until: (row) => row === undefined })
}).pipe(Effect.provide(Worker.layer(Effect.all([wordsForgottenJob]))))

for (const { layer, name } of flowDatabases) {
  describe(`the words of automations and hooks on ${name}`, () => {
    it.scopedLive("are in no table once both are deleted, and the runs stay readable", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const automations = yield* Automations
        const hooks = yield* Hooks
        const jobs = yield* JobStore
        const journal = yield* Journal
        const idempotency = yield* Idempotency
        /** A mutation whose answer is kept, as one over HTTP. */
        const keep = <A, E = never>(key: string, command: Command<A, ReinsError | E>, sealed = false) =>
          idempotency.run<A, E>({
            scope: principal.accountId,
            key,
            fingerprint: key,
            sealed,
            command,
            encode: (result) => ({ status: 200, body: JSON.stringify(result) }),
            encodeError: null
          })
        const parsed = (answer: { readonly answer: { readonly body: string | null } }) =>
          JSON.parse(answer.answer.body ?? "")
        const hook = parsed(
          yield* keep("hook", hooks.create(principal, workspaceId, { kind: "token", label: `label${mark}` }), true)
        )
        yield* keep("relabel", hooks.update(principal, hook.id, { label: `other${mark}` }))
        const automation = parsed(
          yield* keep(
            "add",
            automations.create(principal, workspaceId, {
              name: `name${mark}`,
              trigger: {
                kind: "hook",
                hook_id: hook.id,
                filter: [{ pointer: "/a", is: `is${mark}`, not: true }],
                pick: [`/pick${mark}`, "/b"]
              },
              target: {
                kind: "new_session",
                message: `message${mark}`,
                title: `title${mark}`,
                labels: { l: `label${mark}` }
              },
              deliver: null
            })
          )
        )
        const body = Buffer.from(JSON.stringify({ a: "x", b: `body${mark}` }))
        const headers: Readonly<Record<string, string>> = {
          authorization: `Bearer ${hook.secret}`,
          "idempotency-key": `delivery${mark}`
        }
        const { outcome } = yield* (yield* HookReceiving).receive(hook.id, {
          header: (header) => headers[header],
          body
        })
        assert.strictEqual(outcome, "accepted")
        yield* keep("pause", automations.pause(principal, automation.id, { reason: `reason${mark}` }))
        yield* journal.commit(
          jobs.enqueue(
            automationMailTo(principal.accountId, { id: automation.id, name: `name${mark}`, reason: "failures" })
          )
        )
        assert.isAbove((yield* rowsHolding(mark)).length, 2)
        yield* keep("delete", automations.remove(principal, automation.id))
        yield* keep("remove", hooks.remove(principal, hook.id))
        yield* forgotten
        assert.deepStrictEqual(yield* rowsHolding(mark), [])
        const { items } = yield* (yield* AutomationRuns).list(principal, automation.id, {})
        assert.deepStrictEqual(
          items.map(({ state }) => state),
          ["cancelled"]
        )
        // A request of before is not made again.
        const again = yield* Effect.either(keep("add", automations.create(principal, workspaceId, {} as never)))
        assert.include(JSON.stringify(again), "showed what is deleted")
      }).pipe(Effect.provide(services(layer)))
    )
  })
}
