import { assert, describe, it } from "@effect/vitest"
import { Reply } from "@reins/server/http/Reply"
import type { Route } from "@reins/server/http/Route"
import { Server } from "@reins/server/Server"
import { Shutdown } from "@reins/server/Shutdown"
import { Deferred, Effect, HashMap, Layer, Logger } from "effect"
import { core } from "../Service.js"

/** A route that begins, and then waits until it is let go on. */
const slowRoute = (method: "GET" | "POST") =>
  Effect.gen(function* () {
    const entered = yield* Deferred.make<void>()
    const leave = yield* Deferred.make<void>()
    const interrupted = yield* Deferred.make<void>()
    const counted = yield* Deferred.make<number>()
    const logged = yield* Deferred.make<unknown>()
    const route: Route = {
      method,
      path: "/slow",
      mutates: method === "POST",
      answer: () =>
        Deferred.succeed(entered, undefined).pipe(
          Effect.zipRight(Deferred.await(leave)),
          Effect.as(Reply.json(200, {})),
          Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined))
        ),
      meter: { began: () => {}, ended: (status) => Deferred.unsafeDone(counted, Effect.succeed(status)) }
    }
    const logger = Logger.make(({ annotations }) => {
      const status = HashMap.get(annotations, "status")
      if (status._tag === "Some") Deferred.unsafeDone(logged, Effect.succeed(status.value))
    })
    const options = { host: "127.0.0.1", port: 0, publicUrl: new URL("http://127.0.0.1"), trustedProxies: [] }
    const layer = Server.layer(Effect.succeed([route]), { ...options, grace: "5 seconds", notice: 0 }).pipe(
      Layer.provide(Shutdown.layer),
      Layer.provide(core()),
      Layer.provide(Logger.replace(Logger.defaultLogger, logger))
    )
    return { layer, entered, leave, interrupted, counted, logged }
  })

/** Sends a request and goes away once it is being answered. */
const askAndGo = (method: "GET" | "POST", entered: Deferred.Deferred<void>) =>
  Effect.gen(function* () {
    const { url } = yield* Server
    const abort = new AbortController()
    const answer = fetch(`${url}/slow`, { method, signal: abort.signal }).catch(() => undefined)
    yield* Deferred.await(entered)
    abort.abort()
    yield* Effect.promise(() => answer)
  })

describe("a client that goes away before its answer", () => {
  it.scopedLive("interrupts its read, which is counted as 499", () =>
    Effect.gen(function* () {
      const { counted, entered, interrupted, layer } = yield* slowRoute("GET")
      yield* Effect.gen(function* () {
        yield* askAndGo("GET", entered)
        yield* Deferred.await(interrupted)
        assert.strictEqual(yield* Deferred.await(counted), 499)
      }).pipe(Effect.provide(layer))
    })
  )

  it.scopedLive("does not interrupt its change, which is counted and logged by how it went", () =>
    Effect.gen(function* () {
      const { counted, entered, interrupted, layer, leave, logged } = yield* slowRoute("POST")
      yield* Effect.gen(function* () {
        yield* askAndGo("POST", entered)
        yield* Deferred.succeed(leave, undefined)
        assert.strictEqual(yield* Deferred.await(counted), 200)
        assert.strictEqual(yield* Deferred.await(logged), 200)
        assert.isFalse(yield* Deferred.isDone(interrupted))
      }).pipe(Effect.provide(layer))
    })
  )
})
