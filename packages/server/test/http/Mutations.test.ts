import { HttpApi, HttpApiGroup } from "@effect/platform"
import { assert, describe, layer, it as plain } from "@effect/vitest"
import { post, read } from "@reins/base/domain/Endpoint"
import { stranger } from "@reins/base/domain/Principal"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { Authentication } from "@reins/server/http/middleware/Authentication"
import { RateLimit } from "@reins/server/http/middleware/RateLimit"
import { routesOf } from "@reins/server/http/Router"
import { Server } from "@reins/server/Server"
import { Shutdown } from "@reins/server/Shutdown"
import { Deferred, Effect, Fiber, Layer, Option, Schema } from "effect"
import { Caller, change, codeOf, core, newCaller, newKey, type Reply, send, service } from "../Service.js"

const create = (caller: { readonly bearer: { readonly authorization: string } }, key: string, body: object) =>
  send("POST", "/api/api-keys", { headers: { ...caller.bearer, "idempotency-key": key }, body })

const errorOf = (reply: Reply) => [reply.status, codeOf(reply)]

layer(service(), { excludeTestServices: true })("a change", (it) => {
  it.effect("sent again with its key happens once and is answered byte for byte the same, marked as replayed", () =>
    Effect.gen(function* () {
      const caller = yield* newCaller()
      const key = newKey()
      const first = yield* create(caller, key, { name: "once", scopes: ["read"] })
      // The order of fields does not make it another request.
      const again = yield* create(caller, key, { scopes: ["read"], name: "once" })
      assert.deepStrictEqual([first.status, again.status], [201, 201])
      assert.strictEqual(again.text, first.text)
      assert.isNull(first.headers.get("idempotency-replayed"))
      assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
      const list = yield* send("GET", "/api/api-keys", { headers: caller.bearer })
      assert.strictEqual(list.text.match(/"once"/g)?.length, 1)
    })
  )

  it.effect("sent by many at once with one key happens once; all get its answer or are told to wait", () =>
    Effect.gen(function* () {
      const caller = yield* newCaller()
      const key = newKey()
      const replies = yield* Effect.all(
        Array.from({ length: 40 }, () => create(caller, key, { name: "many" })),
        { concurrency: "unbounded" }
      )
      const done = replies.filter((reply) => reply.status === 201)
      assert.isAtLeast(done.length, 1)
      assert.strictEqual(new Set(done.map((reply) => reply.text)).size, 1)
      for (const reply of replies) {
        if (reply.status === 201) continue
        assert.deepStrictEqual(errorOf(reply), [409, "idempotency_in_progress"])
        assert.strictEqual(reply.headers.get("retry-after"), "1")
        assert.strictEqual(reply.headers.get("x-should-retry"), "true")
      }
      assert.strictEqual(
        (yield* send("GET", "/api/api-keys", { headers: caller.bearer })).text.match(/"many"/g)?.length,
        1
      )
    })
  )

  it.effect("with a key that was used for something else is a conflict", () =>
    Effect.gen(function* () {
      const caller = yield* newCaller()
      const key = newKey()
      yield* create(caller, key, { name: "one" })
      assert.deepStrictEqual(errorOf(yield* create(caller, key, { name: "two" })), [409, "idempotency_conflict"])
      const elsewhere = yield* send("DELETE", "/api/api-keys/key_none", {
        headers: { ...caller.bearer, "idempotency-key": key }
      })
      assert.deepStrictEqual(errorOf(elsewhere), [409, "idempotency_conflict"])
    })
  )

  const keyFor = (caller: Pick<Caller["Type"], "bearer">, body: object = {}) =>
    Effect.map(create(caller, newKey(), { name: "next", scopes: ["admin"], ...body }), ({ text }) => {
      const { id, secret } = JSON.parse(text)
      return { id: String(id), bearer: { authorization: `Bearer ${secret}` } }
    })

  const project = (caller: Pick<Caller["Type"], "bearer">, path: string, key: string, name = "once") =>
    send("POST", path, { headers: { ...caller.bearer, "idempotency-key": key }, body: { name, slug: key } })

  const workspacesOf = (caller: Pick<Caller["Type"], "bearer">) =>
    Effect.map(
      send("GET", "/api/me", { headers: caller.bearer }),
      ({ text }): ReadonlyArray<string> => JSON.parse(text).workspaces.map(({ id }: { readonly id: string }) => id)
    )

  it.effect("happens once when its API key was replaced meanwhile, by one of all workspaces or of its own", () =>
    Effect.gen(function* () {
      const caller = yield* newCaller()
      const [workspace_id = ""] = yield* workspacesOf(caller)
      const path = `/api/workspaces/${workspace_id}/projects`
      const everywhere = yield* keyFor(caller)
      const inside = yield* keyFor(caller, { workspace_id })
      for (const [before, after] of [
        [caller, everywhere],
        [caller, inside],
        [inside, everywhere],
        [everywhere, inside]
      ] as const) {
        const old = yield* keyFor(before)
        const key = newKey()
        const first = yield* project(old, path, key)
        yield* change("DELETE", `/api/api-keys/${old.id}`, { headers: caller.bearer })
        const again = yield* project(after, path, key)
        assert.deepStrictEqual([again.status, again.text], [201, first.text])
        assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
        assert.deepStrictEqual(errorOf(yield* project(after, path, key, "other")), [409, "idempotency_conflict"])
      }
      const { items } = JSON.parse((yield* send("GET", path, { headers: caller.bearer })).text)
      assert.lengthOf(items, 4)
    })
  )

  it.effect("that answers with a secret neither happens again nor shows it when its API key was replaced", () =>
    Effect.gen(function* () {
      const caller = yield* newCaller()
      const other = yield* keyFor(caller)
      const key = newKey()
      const first = yield* create(caller, key, { name: "secret" })
      const again = yield* create(other, key, { name: "secret" })
      assert.deepStrictEqual(errorOf(again), [409, "idempotency_conflict"])
      assert.notInclude(again.text, JSON.parse(first.text).secret)
      assert.strictEqual((yield* create(caller, key, { name: "secret" })).text, first.text)
      const list = yield* send("GET", "/api/api-keys", { headers: caller.bearer })
      assert.strictEqual(list.text.match(/"secret"/g)?.length, 1)
    })
  )

  it.effect("does not meet the keys of anybody else", () =>
    Effect.gen(function* () {
      const key = newKey()
      const one = yield* create(yield* newCaller(), key, { name: "mine" })
      const other = yield* create(yield* newCaller(), key, { name: "mine" })
      assert.strictEqual(other.status, 201)
      assert.isNull(other.headers.get("idempotency-replayed"))
      assert.notStrictEqual(other.text, one.text)
    })
  )

  it.effect("that failed is answered the same again, with the request id of the first", () =>
    Effect.gen(function* () {
      const { bearer } = yield* Caller
      const headers = { ...bearer, "idempotency-key": newKey() }
      const first = yield* send("DELETE", "/api/api-keys/key_none", { headers })
      const again = yield* send("DELETE", "/api/api-keys/key_none", { headers })
      assert.deepStrictEqual(errorOf(first), [404, "not_found"])
      assert.strictEqual(again.text, first.text)
      assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
      assert.strictEqual(again.headers.get("x-should-retry"), "false")
    })
  )

  it.effect("that was malformed may be mended and sent with the same key", () =>
    Effect.gen(function* () {
      const caller = yield* Caller
      const key = newKey()
      assert.strictEqual((yield* create(caller, key, {})).status, 422)
      assert.strictEqual((yield* create(caller, key, { name: "mended" })).status, 201)
    })
  )

  it.effect("that answers with a secret leaves it readable nowhere in the database", () =>
    Effect.gen(function* () {
      const caller = yield* Caller
      const reply = yield* create(caller, newKey(), { name: "sealed" })
      const secret = /rk_\w{49}/.exec(reply.text)?.[0] ?? "no secret"
      const db = yield* Database
      const rows = yield* db.all(db.sql`select * from idempotency`)
      assert.isAbove(rows.length, 0)
      assert.notInclude(JSON.stringify(rows), secret)
    })
  )

  it.effect("by nobody in particular is told apart by route and address", () =>
    Effect.gen(function* () {
      const body = { email: "new@example.com", password: "a quiet heron at dusk" }
      const headers = { "idempotency-key": newKey() }
      const first = yield* send("POST", "/api/auth/register", { headers, body })
      const again = yield* send("POST", "/api/auth/register", { headers, body })
      assert.deepStrictEqual([first.status, again.status, again.text], [202, 202, first.text])
      const other = yield* send("POST", "/api/auth/register", {
        headers,
        body: { ...body, password: "another password" }
      })
      assert.deepStrictEqual(errorOf(other), [409, "idempotency_conflict"])
    })
  )
})

const authority = { by: stranger, about: { type: "test", id: null } } as const

/** A small API whose handlers do what the real ones must never do. */
const Odd = HttpApi.make("odd").add(
  HttpApiGroup.make("odd")
    .add(post("slow", "/slow", "Waits to be let through").addSuccess(Schema.Struct({ done: Schema.Boolean })))
    .add(post("broken", "/broken", "Has a defect").addSuccess(Schema.Void))
    .add(read("brokenRead", "/broken", "Has a defect").addSuccess(Schema.Void))
)

const odd = (gate: {
  readonly entered: Deferred.Deferred<void>
  readonly leave: Deferred.Deferred<void>
  readonly left: Deferred.Deferred<void>
}) => {
  const broken = Effect.die(new Error("canary-defect with a secret"))
  const slow = Deferred.succeed(gate.entered, undefined).pipe(
    Effect.zipRight(Deferred.await(gate.leave)),
    Effect.zipRight(Deferred.succeed(gate.left, undefined)),
    Effect.as({ done: true })
  )
  const publicUrl = new URL("http://127.0.0.1")
  const routes = Effect.flatMap(Journal, (journal) =>
    routesOf(Odd, {
      odd: {
        slow: () => journal.prepared("slow", authority, Effect.map(slow, Effect.succeed)),
        broken: () => journal.command("broken", authority, broken),
        brokenRead: () => broken
      }
    })
  )
  return Caller.layer.pipe(
    Layer.provideMerge(
      Server.layer(routes, { host: "127.0.0.1", port: 0, publicUrl, trustedProxies: [], grace: "5 seconds" })
    ),
    Layer.provide(Authentication.layer(publicUrl)),
    Layer.provide(Layer.merge(RateLimit.layerOff, Shutdown.layer)),
    Layer.provideMerge(core())
  )
}

const makeGate = Effect.all({
  entered: Deferred.make<void>(),
  leave: Deferred.make<void>(),
  left: Deferred.make<void>()
})

describe("whatever happens inside", () => {
  plain.live("a defect is 500 without a word of its cause, for a read and for a change", () =>
    Effect.gen(function* () {
      const gate = yield* makeGate
      yield* Effect.gen(function* () {
        const { bearer } = yield* Caller
        for (const reply of [
          yield* send("GET", "/broken", { headers: bearer }),
          yield* change("POST", "/broken", { headers: bearer })
        ]) {
          assert.deepStrictEqual(errorOf(reply), [500, "internal_error"])
          assert.notInclude(reply.text, "canary")
          assert.strictEqual(reply.headers.get("x-should-retry"), "true")
        }
      }).pipe(Effect.provide(odd(gate)))
    })
  )

  plain.live("a change that has begun is finished when its client goes away", () =>
    Effect.gen(function* () {
      const gate = yield* makeGate
      yield* Effect.gen(function* () {
        const { bearer } = yield* Caller
        const { url } = yield* Server
        const abort = new AbortController()
        const headers = { ...bearer, "idempotency-key": "gone" }
        const request = yield* Effect.fork(
          Effect.tryPromise(() => fetch(`${url}/slow`, { method: "POST", headers, signal: abort.signal }))
        )
        yield* Deferred.await(gate.entered)
        abort.abort()
        yield* Fiber.await(request)
        yield* Deferred.succeed(gate.leave, undefined)
        yield* Deferred.await(gate.left)
        // Its answer waits for whoever asks with the key again.
        const again = yield* Effect.repeat(send("POST", "/slow", { headers }), {
          until: (reply) => reply.status !== 409
        })
        assert.deepStrictEqual(
          [again.status, again.json, again.headers.get("idempotency-replayed")],
          [200, { done: true }, "true"]
        )
      }).pipe(Effect.provide(odd(gate)))
    })
  )

  plain.live("what has begun is answered when the service stops, and nothing new is taken", () =>
    Effect.gen(function* () {
      const gate = yield* makeGate
      const reply = yield* Deferred.make<Reply>()
      const serving = yield* Effect.gen(function* () {
        const { bearer } = yield* Caller
        yield* Effect.forkDaemon(
          Effect.flatMap(change("POST", "/slow", { headers: bearer }), (got) => Deferred.succeed(reply, got))
        )
        yield* Deferred.await(gate.entered)
      }).pipe(Effect.provide(odd(gate)), Effect.fork)
      yield* Effect.raceFirst(Deferred.await(gate.entered), Fiber.join(serving))
      assert.isTrue(Option.isNone(yield* Deferred.poll(reply)))
      yield* Deferred.succeed(gate.leave, undefined)
      yield* Fiber.join(serving)
      assert.deepStrictEqual((yield* Deferred.await(reply)).json, { done: true })
    })
  )
})
