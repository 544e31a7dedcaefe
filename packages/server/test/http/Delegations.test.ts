import { assert, layer } from "@effect/vitest"
import { TurnId } from "@reins/base/domain/Ids"
import { systemActor } from "@reins/core/access/Access"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Journal } from "@reins/core/store/Journal"
import { Effect, Fiber, Schema } from "effect"
import { Caller, change, codeOf, newCaller, newKey, type Reply, send, service } from "../Service.js"
import { newSession } from "../Sessions.js"

const Spawned = Schema.Struct({
  operation: Schema.Struct({ id: Schema.String, job_id: Schema.String, state: Schema.String }),
  delegation: Schema.Struct({ id: Schema.String, child_session_id: Schema.String, state: Schema.String })
})
const Waited = Schema.Struct({
  wait: Schema.Struct({ id: Schema.String, state: Schema.String, wake: Schema.String }),
  delegation: Schema.Struct({ state: Schema.String }),
  result: Schema.optional(Schema.Struct({ id: Schema.String, summary: Schema.String }))
})
const Listed = Schema.Struct({ items: Schema.Array(Schema.Struct({ id: Schema.String })) })
const Invalid = Schema.Struct({
  detail: Schema.Array(Schema.Struct({ loc: Schema.Array(Schema.Unknown), type: Schema.String }))
})

const decoded = <A, I>(schema: Schema.Schema<A, I>, reply: Reply) =>
  Effect.orDie(Schema.decodeUnknown(schema)(reply.json, { errors: "all" }))

const given = Effect.gen(function* () {
  const { bearer: headers } = yield* Caller
  const { sessionId } = yield* newSession
  const spawn = (body: object = {}) =>
    change("POST", `/api/sessions/${sessionId}/delegations`, {
      headers,
      body: { role: "reviewer", instructions: "Review it.", ...body }
    })
  return { headers, sessionId, spawn }
})

/** Lets the turn of the child begin, as the start of its agent does. */
const begin = (headers: Readonly<Record<string, string>>, child: string) =>
  Effect.gen(function* () {
    const turns = yield* TurnStore
    const list = yield* decoded(Listed, yield* send("GET", `/api/sessions/${child}/turns`, { headers }))
    const id = TurnId.make(list.items[0]?.id ?? "")
    const actor = systemActor("test")
    yield* (yield* Journal).commit(
      Effect.zipRight(turns.move(id, "preparing", actor), turns.move(id, "running", actor))
    )
  })

// No agent runs here: the turns of the children wait until a test moves them.
layer(service({ maxRunningTurns: 0 }), { excludeTestServices: true })("delegations over HTTP", (it) => {
  it.effect("every operation is there, answers 200, and a repeated spawn is the first one", () =>
    Effect.gen(function* () {
      const { headers, sessionId } = yield* given
      const key = newKey()
      const body = { role: "reviewer", instructions: "Review it.", deadline_seconds: 600 }
      const sent = { headers: { ...headers, "idempotency-key": key }, body }
      const first = yield* send("POST", `/api/sessions/${sessionId}/delegations`, sent)
      const again = yield* send("POST", `/api/sessions/${sessionId}/delegations`, sent)
      assert.deepStrictEqual([first.status, again.text], [200, first.text])
      const { delegation, operation } = yield* decoded(Spawned, first)
      assert.strictEqual(delegation.state, "pending")
      const at = `/api/delegations/${delegation.id}`
      const list = yield* decoded(Listed, yield* send("GET", `/api/sessions/${sessionId}/delegations`, { headers }))
      assert.deepStrictEqual(
        list.items.map(({ id }) => id),
        [delegation.id]
      )
      assert.strictEqual((yield* send("GET", at, { headers })).status, 200)
      assert.strictEqual((yield* send("GET", `/api/operations/${operation.id}`, { headers })).status, 200)
      const early = yield* send("GET", `${at}/result`, { headers })
      assert.deepStrictEqual([early.status, codeOf(early)], [404, "result_not_ready"])
      const message = yield* change("POST", `${at}/messages`, { headers, body: { content: "And the tests." } })
      assert.strictEqual(message.status, 200)
      assert.containsAllKeys(message.json, ["message", "turn_id", "operation"])
      yield* begin(headers, delegation.child_session_id)
      const result = { kind: "review", verdict: "approved", summary: "Good.", value: { score: 7 } }
      assert.strictEqual((yield* change("POST", `${at}/result`, { headers, body: result })).status, 200)
      assert.strictEqual((yield* change("POST", `${at}/result`, { headers, body: result })).status, 200)
      const other = yield* change("POST", `${at}/result`, { headers, body: { ...result, summary: "Bad." } })
      assert.deepStrictEqual([other.status, codeOf(other)], [409, "result_already_set"])
      assert.strictEqual((yield* send("GET", `${at}/result`, { headers })).status, 200)
      const late = yield* change("POST", `${at}/cancellations`, { headers })
      assert.deepStrictEqual([late.status, codeOf(late)], [409, "invalid_transition"])
    })
  )

  it.effect("a wait holds no key: the same call again waits beside it, and both are answered by the result", () =>
    Effect.gen(function* () {
      const { headers, spawn } = yield* given
      const { delegation } = yield* decoded(Spawned, yield* spawn())
      const at = `/api/delegations/${delegation.id}`
      const call = (body: object, key = newKey()) =>
        Effect.flatMap(
          send("POST", `${at}/waits`, { headers: { ...headers, "idempotency-key": key }, body }),
          (reply) => Effect.map(decoded(Waited, reply), (waited) => ({ reply, ...waited }))
        )
      const now = yield* call({ timeout_seconds: 0 })
      assert.deepStrictEqual([now.reply.status, now.wait.state, now.result], [200, "pending", undefined])
      const key = newKey()
      const waiting = yield* Effect.forEach([1, 2], () => Effect.fork(call({ timeout_seconds: 30 }, key)), {})
      assert.strictEqual((yield* call({ timeout_seconds: 0 }, key)).wait.state, "pending")
      yield* begin(headers, delegation.child_session_id)
      yield* change("POST", `${at}/result`, { headers, body: { kind: "generic", summary: "Done." } })
      for (const { delegation: ended, reply, result, wait } of yield* Effect.forEach(waiting, Fiber.join)) {
        assert.deepStrictEqual([wait.state, ended.state, result?.summary], ["satisfied", "succeeded", "Done."])
        assert.isNull(reply.headers.get("idempotency-replayed"))
      }
      // The key that was told before that a delegation goes on is told its end too.
      assert.strictEqual((yield* call({}, key)).wait.state, "satisfied")
    })
  )

  it.effect("what is malformed is 422 with its place", () =>
    Effect.gen(function* () {
      const { headers, spawn } = yield* given
      const { delegation } = yield* decoded(
        Spawned,
        yield* spawn({ result_schema: { type: "object", required: ["score"] } })
      )
      const at = `/api/delegations/${delegation.id}`
      const result = (body: object) => change("POST", `${at}/result`, { headers, body })
      for (const [reply, loc] of [
        [yield* spawn({ role: "" }), ["body", "role"]],
        [yield* spawn({ result_schema: { type: "strin" } }), ["body", "result_schema"]],
        [yield* spawn({ deadline_seconds: 0 }), ["body", "deadline_seconds"]],
        [yield* result({ kind: "opinion", summary: "s" }), ["body", "kind"]],
        [
          yield* result({ kind: "research", verdict: "passed", summary: "s", value: { score: 1 } }),
          ["body", "verdict"]
        ],
        [yield* result({ kind: "generic", summary: "s" }), ["body", "value"]],
        [yield* result({ kind: "generic", summary: "s", value: {} }), ["body", "value", "score"]],
        [yield* change("POST", `${at}/waits`, { headers, body: { timeout_seconds: 61 } }), ["body", "timeout_seconds"]],
        [yield* send("POST", `${at}/waits`, { headers, body: {} }), ["header", "Idempotency-Key"]]
      ] as const) {
        assert.strictEqual(reply.status, 422, reply.text)
        assert.deepStrictEqual((yield* decoded(Invalid, reply)).detail[0]?.loc, [...loc])
      }
    })
  )

  it.effect("a key that may only read cannot delegate, and a stranger sees nothing", () =>
    Effect.gen(function* () {
      const { sessionId, spawn } = yield* given
      const { delegation } = yield* decoded(Spawned, yield* spawn())
      const reader = yield* newCaller(["read"])
      const stranger = yield* newCaller()
      const body = { role: "r", instructions: "i" }
      const refused = yield* change("POST", `/api/sessions/${sessionId}/delegations`, { headers: reader.bearer, body })
      assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "insufficient_scope"])
      for (const reply of [
        yield* change("POST", `/api/sessions/${sessionId}/delegations`, { headers: stranger.bearer, body }),
        yield* send("GET", `/api/delegations/${delegation.id}`, { headers: stranger.bearer }),
        yield* change("POST", `/api/delegations/${delegation.id}/waits`, { headers: stranger.bearer, body: {} })
      ]) {
        assert.deepStrictEqual([reply.status, codeOf(reply)], [404, "not_found"])
      }
    })
  )
})
