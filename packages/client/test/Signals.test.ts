import { getEventListeners, once } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Reins } from "../src/index.js"
import { json, serve } from "./ScriptedServer.js"

const heard = (signal: AbortSignal): number => getEventListeners(signal, "abort").length

describe("a signal that many calls share", () => {
  it("has one listener, warns of nothing, and ends all of them with its reason", async () => {
    await using server = await serve(() => undefined)
    const reins = new Reins({ baseUrl: server.url })
    const controller = new AbortController()
    const { signal } = controller
    const warned = once(process, "warning")
    const read = async () => {
      for await (const _ of reins.sessions.stream({ session_id: "s" }, { signal })) assert.fail("there are no events")
    }
    const calls = Array.from({ length: 15 }, () => [
      reins.sessions.get({ session_id: "s" }, { signal }),
      reins.sessions.close({ session_id: "s" }, { signal }),
      reins.turns.wait({ turn_id: "t" }, { signal }),
      read()
    ]).flat()
    const ends = Promise.all(calls.map((call) => Promise.resolve(call).catch((reason: unknown) => reason)))
    await server.count(calls.length)
    assert.strictEqual(heard(signal), 1)
    controller.abort("enough")
    assert.deepStrictEqual(
      await ends,
      calls.map(() => "enough")
    )
    assert.strictEqual(heard(signal), 0)
    // A warning is told on the next tick.
    assert.strictEqual(
      await Promise.race([warned, new Promise((resolve) => setImmediate(resolve, "silent"))]),
      "silent"
    )
  })

  it("is left by each call that ends, and heard again by the next", async () => {
    await using server = await serve((response) => json(response, 200, { id: "s" }))
    const reins = new Reins({ baseUrl: server.url })
    const { signal } = new AbortController()
    for (let round = 0; round < 3; round++) {
      await Promise.all(Array.from({ length: 12 }, () => reins.sessions.get({ session_id: "s" }, { signal })))
      assert.strictEqual(heard(signal), 0)
    }
  })

  it("that is aborted already ends a call before it is sent", async () => {
    await using server = await serve((response) => json(response, 200, {}))
    const signal = AbortSignal.abort("before")
    const reason = await new Reins({ baseUrl: server.url }).sessions
      .get({ session_id: "s" }, { signal })
      .catch((reason: unknown) => reason)
    assert.strictEqual(`${reason}`, "before")
    assert.lengthOf(server.received, 0)
    assert.strictEqual(heard(signal), 0)
  })
})
