import { assert, describe, it } from "@effect/vitest"
import { fromMillis } from "@reins/base/domain/Timestamp"
import { mostWaiting } from "@reins/core/automations/Allowance"
import type { UnreadReason } from "@reins/core/hooks/Hook"
import { HookReceiving } from "@reins/core/hooks/HookReceiving"
import { Messages } from "@reins/core/sessions/Messages"
import { Database } from "@reins/core/store/Database"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, type Layer } from "effect"
import { begin, end } from "../delegations/Children.js"
import { sessionOf, work } from "./Automated.js"
import { hooked, push } from "./Hooked.js"

for (const { layer, name } of flowDatabases) {
  describe(`the calls of a hook on ${name}`, () => {
    const rule = (text: string, test: Effect.Effect<void, unknown, Layer.Layer.Success<ReturnType<typeof services>>>) =>
      it.scopedLive(text, () => test.pipe(Effect.provide(services(layer))))

    rule(
      "each of several calls gets its run with its own data, in their order, and one that there is no room for is told",
      Effect.gen(function* () {
        const { call, hook, hooks, listen, principal, runs, runsOf } = yield* hooked()
        const { id } = yield* listen({}, { pick: ["/n"] })
        for (let n = 0; n < 3; n++) yield* call({ n }, `n${n}`)
        const told: Array<string> = []
        for (let n = 0; n < 3; n++) {
          yield* work
          const begun = (yield* runsOf(id)).filter(
            ({ started_at, state }) => state === "waiting" && started_at !== null
          )
          assert.lengthOf(begun, 1)
          const sessionId = yield* sessionOf(begun[0] ?? { session_id: null })
          const { items } = yield* (yield* Messages).list(principal, sessionId, {})
          const [part] = items[0]?.content ?? []
          told.push(/"\/n": (\d)/.exec(part?.type === "text" ? part.text : "")?.[1] ?? "")
          yield* begin(principal, sessionId)
          yield* end(principal, sessionId, "succeeded")
        }
        assert.deepStrictEqual(told, ["0", "1", "2"])
        assert.deepStrictEqual(
          (yield* runsOf(id)).map(({ state }) => state),
          ["succeeded", "succeeded", "succeeded"]
        )
        // The one beyond the last place keeps its data, so a person can make it again.
        for (let n = 0; n < mostWaiting; n++) yield* call({ many: n }, `many${n}`)
        const answer = yield* call({ n: 7 }, "beyond")
        assert.deepInclude(answer, { outcome: "dropped", runs: 1, queued: 0, dropped: 1, reason: "queue_full" })
        const [receipt] = (yield* hooks.receipts(principal, hook.id, { limit: 1 })).items
        assert.deepInclude(receipt, {
          outcome: "dropped",
          reason: "queue_full",
          reason_message: answer.reason_message ?? null
        })
        const [skipped, ...others] = yield* runsOf(id)
        assert.deepInclude(skipped, { state: "skipped", reason: "queue_full" })
        yield* Effect.forEach(
          others.filter(({ state }) => state === "waiting"),
          (run) => runs.cancel(principal, run.id)
        )
        const again = yield* runs.retry(principal, skipped?.id ?? "")
        const { items } = yield* (yield* Messages).list(principal, yield* sessionOf(again), {})
        assert.include(JSON.stringify(items[0]?.content), '\\"/n\\": 7')
      })
    )

    rule(
      "calls beyond max_parallel wait too, and begin as others end",
      Effect.gen(function* () {
        const { call, listen, principal, runsOf } = yield* hooked()
        const { id } = yield* listen({ overlap: "parallel", max_parallel: 2 })
        for (let n = 0; n < 5; n++) yield* call({ n }, `n${n}`)
        const begun = Effect.map(runsOf(id), (all) =>
          all.filter(({ started_at, state }) => state === "waiting" && started_at !== null)
        )
        for (const left of [2, 2, 2, 2, 1]) {
          yield* work
          const now = yield* begun
          assert.lengthOf(now, left)
          const sessionId = yield* sessionOf(now.at(-1) ?? { session_id: null })
          yield* begin(principal, sessionId)
          yield* end(principal, sessionId, "succeeded")
        }
        assert.lengthOf(yield* begun, 0)
        assert.isTrue((yield* runsOf(id)).every(({ state }) => state === "succeeded"))
      })
    )

    rule(
      "a body that is signed alone is one delivery under any id and event, also twice at once",
      Effect.gen(function* () {
        const { call, hook, hooks, listen, principal, runsOf } = yield* hooked()
        const { id } = yield* listen()
        const first = yield* call(push, "one")
        const copies = [
          yield* call(push, "two"),
          yield* call(push, "three", { event: "issues" }),
          yield* call(push, ""),
          yield* call(push, "x".repeat(500)),
          ...(yield* Effect.forEach(["a", "b", "c"], (again) => call(push, again), { concurrency: 3 }))
        ]
        for (const copy of copies) assert.strictEqual(copy.outcome, "duplicate")
        assert.lengthOf(yield* runsOf(id), 1)
        const { items } = yield* hooks.receipts(principal, hook.id, {})
        assert.deepStrictEqual(
          items.map(({ outcome, replayable, runs }) => [outcome, runs, replayable]),
          [...copies.map(() => ["duplicate", 0, false]), ["accepted", 1, true]]
        )
        assert.strictEqual(items.at(-1)?.id, first.receipt_id)
        // Another body by one byte is another delivery, and so is the same one after the window.
        assert.strictEqual((yield* call(`${JSON.stringify(push)} `, "four")).outcome, "accepted")
        const { run, sql } = yield* Database
        yield* run(sql`update hook_receipts set created_at = ${fromMillis(Date.now() - 6 * 60_000)}`)
        assert.strictEqual((yield* call(push, "five")).outcome, "accepted")
      })
    )

    rule(
      "a call whose body was not read leaves a receipt: proven by its header, or as one that nothing proves",
      Effect.gen(function* () {
        const { hook, hooks, principal, workspaceId } = yield* hooked()
        const { leaveUnread } = yield* HookReceiving
        const token = yield* hooks.create(principal, workspaceId, { kind: "token", label: "own" })
        const gitlab = yield* hooks.create(principal, workspaceId, { kind: "gitlab", label: "lab" })
        const leave = (id: string, headers: Readonly<Record<string, string>>, reason: UnreadReason = "too_large") =>
          leaveUnread(id, { header: (header) => headers[header], size: 9 }, reason)
        const receiptsOf = (id: string) =>
          Effect.map(hooks.receipts(principal, id, { limit: 200 }), ({ items }) => items)
        yield* leave(token.id, { authorization: `Bearer ${token.secret}`, "idempotency-key": "k" }, "cut_off")
        yield* leave(gitlab.id, { "x-gitlab-token": gitlab.secret, "x-gitlab-event": "Push Hook" }, "too_slow")
        assert.deepInclude((yield* receiptsOf(token.id))[0], {
          delivery_id: "k",
          outcome: "unread",
          proven: true,
          reason: "cut_off"
        })
        assert.deepInclude((yield* receiptsOf(gitlab.id))[0], {
          event: "Push Hook",
          proven: true,
          size: 9,
          replayable: false
        })
        // A wrong secret, an unknown hook and a disabled one leave nothing.
        yield* leave(token.id, { authorization: "Bearer no" })
        yield* leave("hook_01jz0000000000000000000000", {})
        yield* hooks.update(principal, gitlab.id, { state: "disabled" })
        yield* leave(gitlab.id, { "x-gitlab-token": gitlab.secret, "webhook-id": "w" })
        assert.lengthOf(yield* receiptsOf(token.id), 1)
        assert.lengthOf(yield* receiptsOf(gitlab.id), 1)
        // Nothing can prove a body that is not there, and few of those are kept.
        for (let n = 0; n < 210; n++) yield* leave(hook.id, { "x-github-delivery": `d${n}`, "x-github-event": "push" })
        const kept = yield* Effect.flatMap(Database, ({ all, sql }) =>
          all<{ delivery_id: string }>(
            sql`select delivery_id from hook_receipts where hook_id = ${hook.id} order by id`
          )
        )
        assert.lengthOf(kept, 200)
        assert.strictEqual(kept[0]?.delivery_id, "d10")
        assert.deepInclude((yield* receiptsOf(hook.id))[0], { delivery_id: "d209", proven: false, outcome: "unread" })
      })
    )
  })
}
