import { readFileSync } from "node:fs"
import { assert, layer } from "@effect/vitest"
import { connection, of, scriptedManifest } from "@reins/testing/harness/Turns"
import { Deferred, Effect, Fiber } from "effect"
import { ask, bearer, gatewayOf } from "../relay/Loans.js"
import { newSession, poolWith } from "./Pool.js"

/** The input that an agent was started with. */
const given = (pid: number, name: string): string =>
  new RegExp(`(?:^|\0)${name}=([^\0]*)`).exec(readFileSync(`/proc/${pid}/environ`, "utf8"))?.[1] ?? ""

layer(poolWith(), { excludeTestServices: true })("the pool of agents", (it) => {
  it.scoped("breaks off the calls of an agent that is cut off while it still works, and keeps it for nobody", () =>
    Effect.gen(function* () {
      const { pids, turn } = yield* newSession
      const base_url = yield* gatewayOf((request, response) =>
        request.url === "/v1/endless" ? response.write("data: one\n\n") : response.end("{}")
      )
      const scripted = scriptedManifest()
      const launch = scripted.runtime && {
        ...scripted.runtime.launch,
        environment: { URL: "{{connection.base_url}}" }
      }
      const manifest = { ...scripted, runtime: scripted.runtime && launch && { ...scripted.runtime, launch } }
      const [cutOff, cancel, started, begun] = yield* Effect.all([
        Deferred.make<void>(),
        Deferred.make<void>(),
        Deferred.make<void>(),
        Deferred.make<void>()
      ])
      const call = (path: string, onChunk?: () => void) =>
        Effect.suspend(() => {
          const [pid = 0] = pids()
          const headers = bearer(given(pid, "KEY"))
          return ask(`${given(pid, "URL")}/${path}`, { headers, ...(onChunk && { onChunk }) })
        })
      const running = yield* Effect.fork(
        turn([{ hang: true }], {
          manifest,
          connection: connection({ base_url }, "key-1"),
          cutOff: Deferred.await(cutOff),
          cancel: Deferred.await(cancel),
          beforePrompt: () => Effect.as(Deferred.succeed(begun, undefined), true)
        })
      )
      yield* Deferred.await(begun)
      const underWay = yield* Effect.fork(Effect.flip(call("endless", () => Deferred.unsafeDone(started, Effect.void))))
      yield* Deferred.await(started)
      yield* Deferred.succeed(cutOff, undefined)
      yield* Fiber.join(underWay)
      assert.lengthOf(pids(), 1)
      assert.strictEqual((yield* call("models")).status, 401)
      yield* Deferred.succeed(cancel, undefined)
      assert.strictEqual(of(yield* Fiber.join(running), "ended")[0]?.stop_reason, "cancelled")
      assert.deepStrictEqual(pids(), [])
    })
  )
})
