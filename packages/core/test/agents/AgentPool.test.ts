import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { AgentPool } from "@reins/machine/agents/AgentPool"
import { connection, of, said, scriptedManifest } from "@reins/testing/harness/Turns"
import { Deferred, Effect, Fiber, Redacted, Stream } from "effect"
import { ask, bearer, gatewayOf } from "../relay/Loans.js"
import { newSession, poolWith, steps, type Told } from "./Pool.js"

const told: Told = { taken: [], kept: [] }

/** The input that the agent was started with. */
const environment = (pid: number, name: string): string =>
  new RegExp(`(?:^|\0)${name}=([^\0]*)`).exec(readFileSync(`/proc/${pid}/environ`, "utf8"))?.[1] ?? ""

layer(poolWith({}, told), { excludeTestServices: true })("the pool of agents", (it) => {
  it.scoped("runs the next turn of a lease on the same process, which has one native session", () =>
    Effect.gen(function* () {
      const { pids, stops, turn } = yield* newSession
      const first = yield* turn([{ say: "one" }])
      const [pid = 0] = pids()
      assert.deepStrictEqual(
        first.map(({ _tag }) => _tag),
        ["ready", "native_session", "text", "usage", "ended"]
      )
      const [native] = of(first, "native_session")
      const second = yield* turn([{ say: "two" }], { nativeSessionId: native?.id ?? "" })
      assert.deepStrictEqual(pids(), [pid])
      assert.deepStrictEqual(
        second.map(({ _tag }) => _tag),
        ["ready", "native_session", "text", "usage", "ended"]
      )
      assert.deepStrictEqual(of(second, "native_session"), [{ _tag: "native_session", id: "s1", resumed: true }])
      assert.strictEqual(said(second), "two")
      assert.deepStrictEqual(stops, [])
      assert.deepStrictEqual(told.taken.slice(-2), ["cold", "warm"])
    })
  )

  it.scoped("starts another agent for a turn with another model, another native session or another start", () =>
    Effect.gen(function* () {
      const { pids, stops, turn } = yield* newSession
      yield* turn([{ say: "one" }])
      const seen = [pids()[0]]
      const differently = [
        { nativeSessionId: "s1", model: "other" },
        { nativeSessionId: null, model: "other" },
        { nativeSessionId: "s2", model: "other", manifest: scriptedManifest({}, { MORE: "1" }) },
        { nativeSessionId: "s2", model: "other", connection: connection({ base_url: "http://127.0.0.1:9" }, "key-1") }
      ]
      for (const changes of differently) {
        assert.strictEqual(said(yield* turn([{ say: "next" }], changes)), "next")
        assert.lengthOf(pids(), 1)
        seen.push(pids()[0])
      }
      assert.strictEqual(new Set(seen).size, 5)
      assert.deepStrictEqual(stops, ["gone", "gone", "gone", "gone"])
    })
  )

  it.scoped("forgets an agent that is killed between turns, and the next turn resumes", () =>
    Effect.gen(function* () {
      const { leaseId, pids, stops, turn, until } = yield* newSession
      yield* turn([{ say: "one" }])
      const [pid = 0] = pids()
      process.kill(pid, "SIGKILL")
      yield* until("it is forgotten", () => stops.length === 1)
      assert.isFalse(yield* Effect.flatMap(AgentPool, (pool) => pool.isKept(leaseId)))
      const next = yield* turn([{ say: "two" }], { nativeSessionId: "s1" })
      assert.strictEqual(said(next), "two")
      assert.notInclude(pids(), pid)
    })
  )

  it.scoped("ends what a turn has left running, also in a session of its own, and not its agent", () =>
    Effect.gen(function* () {
      const { homeDir, pids, turn } = yield* newSession
      yield* turn([{ say: "before" }])
      const [pid = 0] = pids()
      const events = yield* turn([{ daemon: true }, { say: "left one" }], { nativeSessionId: "s1" })
      assert.strictEqual(events.at(-1)?._tag, "ended")
      assert.deepStrictEqual(pids(), [pid])
      const daemon = Number(readFileSync(join(homeDir, "daemon.pid"), "utf8"))
      assert.isAbove(daemon, 0)
      assert.strictEqual(said(yield* turn([{ say: "after" }], { nativeSessionId: "s1" })), "after")
      assert.deepStrictEqual(pids(), [pid])
    })
  )

  it.scoped("gives what an agent says or asks between turns to no turn", () =>
    Effect.gen(function* () {
      const { homeDir, pids, turn, until } = yield* newSession
      const params = { toolCall: { toolCallId: "t" }, options: [{ optionId: "yes", kind: "allow_once" }] }
      const late = [{ say: "late" }, { raw: "noise" }, { ask: "session/request_permission", params }]
      const lines: Array<string> = []
      const onLine = (_: "in" | "out", line: string) => Effect.sync(() => void lines.push(line))
      const first = yield* turn([{ later: late }, { say: "one" }], { onLine })
      process.kill(pids()[0] ?? 0, "SIGUSR2")
      yield* until("it was answered", () => existsSync(join(homeDir, "later.done")))
      // It says what it was answered. What is read in the next turn would belong to that one.
      yield* until("all of it was read", () => lines.some((line) => /update.*cancelled/.test(line)))
      const second = yield* turn([{ say: "two" }], { nativeSessionId: "s1" })
      assert.deepStrictEqual([said(first), said(second)], ["one", "two"])
      assert.deepStrictEqual(of([...first, ...second], "diagnostic"), [])
    })
  )

  it.scoped("tells the usage of each turn alone where an agent counts that of its process", () =>
    Effect.gen(function* () {
      const { turn } = yield* newSession
      const manifest = scriptedManifest({ usage_scope: "process" }, { CUMULATIVE: "1" })
      const first = yield* turn([{ say: "one" }], { manifest })
      const second = yield* turn([{ say: "two" }], { manifest, nativeSessionId: "s1" })
      assert.deepStrictEqual(
        [first, second].map((events) => of(events, "usage")[0]?.input_tokens),
        [7, 7]
      )
    })
  )

  it.scoped("writes no file of an agent that lives", () =>
    Effect.gen(function* () {
      const { homeDir, turn } = yield* newSession
      const plain = scriptedManifest()
      if (plain.runtime === null) return assert.fail("it has a runtime")
      const profiles = plain.runtime.launch.profiles.map((profile) => ({
        ...profile,
        files: [{ path: ".config/agent.json", content: "written" }]
      }))
      const manifest = { ...plain, runtime: { ...plain.runtime, launch: { ...plain.runtime.launch, profiles } } }
      yield* turn([{ say: "one" }], { manifest })
      const file = join(homeDir, ".config/agent.json")
      assert.strictEqual(readFileSync(file, "utf8"), "written")
      writeFileSync(file, "changed by the agent")
      yield* turn([{ say: "two" }], { manifest, nativeSessionId: "s1" })
      assert.strictEqual(readFileSync(file, "utf8"), "changed by the agent")
    })
  )

  it.scoped("keeps no agent whose turn failed, was cancelled, or that nobody reads any more", () =>
    Effect.gen(function* () {
      const { base, pids, stops, turn } = yield* newSession
      yield* Effect.flip(turn([{ say: "x" }, { fail: "HTTP 500: boom" }]))
      assert.deepStrictEqual(pids(), [])
      const cancel = yield* Deferred.make<void>()
      const begun = { beforePrompt: () => Effect.as(Deferred.succeed(cancel, undefined), true) }
      const cancelled = yield* turn([{ hang: true }], { cancel: Deferred.await(cancel), ...begun })
      assert.deepStrictEqual([of(cancelled, "ended")[0]?.stop_reason, pids()], ["cancelled", []])
      const pool = yield* AgentPool
      const endless = pool.run({ ...base, prompt: steps({ say: "x" }, { hang: true }) })
      yield* Stream.runDrain(Stream.takeUntil(endless, ({ _tag }) => _tag === "text"))
      assert.deepStrictEqual([pids(), stops], [[], []])
    })
  )

  it.scoped("starts an agent ahead of its turn, and a turn that comes meanwhile waits for it", () =>
    Effect.gen(function* () {
      const pool = yield* AgentPool
      const { base, pids, turn, until } = yield* newSession
      yield* Effect.asVoid(pool.prepare(base))
      yield* Effect.asVoid(pool.prepare(base))
      yield* until("it is there", () => pids().length === 1)
      const [pid = 0] = pids()
      assert.strictEqual(said(yield* turn([{ say: "one" }])), "one")
      assert.deepStrictEqual(pids(), [pid])
      assert.strictEqual(told.taken.at(-1), "warm")
      yield* pool.stop(base.leaseId)
      yield* Effect.asVoid(pool.prepare({ ...base, manifest: scriptedManifest({}, { HANG_AT: "initialize" }) }))
      yield* until("it starts", () => pids().length === 1)
      const cancelled = yield* turn([], {
        manifest: scriptedManifest({}, { HANG_AT: "initialize" }),
        cancel: Effect.void
      })
      assert.deepStrictEqual([of(cancelled, "ended")[0]?.stop_reason, pids()], ["cancelled", []])
    })
  )

  it.scoped("starts an agent beside the making of its workspace, and opens its session when that is there", () =>
    Effect.gen(function* () {
      const pool = yield* AgentPool
      const { base, pids, turn, until } = yield* newSession
      const sent: Array<string> = []
      const isSent = (method: string) => sent.some((line) => line.includes(`"${method}"`))
      const onLine = (direction: "in" | "out", line: string) =>
        Effect.sync(() => void (direction === "out" && sent.push(line)))
      const made = yield* Deferred.make<boolean>()
      const answered = Effect.scoped(
        Effect.gen(function* () {
          yield* pool.reserve({ ...base, onLine, workspaceMade: Deferred.await(made) })
          yield* until("it runs and is asked", () => pids().length === 1 && isSent("initialize"))
          const [pid] = pids()
          const work = yield* Effect.fork(turn([{ say: "one" }]))
          // No second one is started beside it.
          yield* Effect.asVoid(pool.prepare(base))
          assert.isFalse(isSent("session/new"))
          yield* Deferred.succeed(made, true)
          assert.strictEqual(said(yield* Fiber.join(work)), "one")
          assert.isTrue(isSent("session/new"))
          return pid
        })
      )
      const pid = yield* answered
      // The turn has taken it, so it outlives what was prepared for the turn.
      assert.deepStrictEqual(pids(), [pid ?? 0])
      assert.strictEqual(told.taken.at(-1), "cold")
    })
  )

  it.scoped("leaves no agent that was started for a turn which does not come, or whose workspace cannot be made", () =>
    Effect.gen(function* () {
      const pool = yield* AgentPool
      const { base, pids, stops, until } = yield* newSession
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* pool.reserve({ ...base, workspaceMade: Effect.never })
          yield* until("it runs", () => pids().length === 1)
        })
      )
      assert.deepStrictEqual([pids(), stops], [[], ["gone"]])
      const made = yield* Deferred.make<boolean>()
      yield* Effect.asVoid(pool.prepare({ ...base, workspaceMade: Deferred.await(made) }))
      yield* until("it runs", () => pids().length === 1)
      yield* Deferred.succeed(made, false)
      yield* until("it is stopped", () => stops.length === 2)
      assert.deepStrictEqual(pids(), [])
    })
  )

  it.scoped("stops an agent when it is told to, and never one that works", () =>
    Effect.gen(function* () {
      const pool = yield* AgentPool
      const { leaseId, pids, stops, turn } = yield* newSession
      const begun = yield* Deferred.make<void>()
      const running = yield* Effect.fork(
        turn([{ say: "one" }], {
          beforePrompt: () => Effect.as(Effect.zipRight(pool.stop(leaseId), Deferred.succeed(begun, undefined)), true)
        })
      )
      yield* Deferred.await(begun)
      assert.strictEqual(said(yield* Fiber.join(running)), "one")
      assert.lengthOf(pids(), 1)
      yield* pool.stop(leaseId)
      assert.deepStrictEqual([pids(), stops], [[], ["gone"]])
    })
  )

  it.scoped("opens the token of an agent during its turns only, for the key that the connection then has", () =>
    Effect.gen(function* () {
      const { pids, turn } = yield* newSession
      const keys: Array<string | undefined> = []
      const base = yield* gatewayOf((request, response) => {
        keys.push(request.headers.authorization)
        return request.url === "/v1/endless" ? response.write("data: one\n\n") : response.end("{}")
      })
      const settings = { base_url: base }
      const manifest = scriptedManifest()
      const call = (path: string, onChunk?: () => void) =>
        Effect.suspend(() => {
          const token = environment(pids()[0] ?? 0, "KEY")
          return ask(`${url}/${path}`, { headers: bearer(token), ...(onChunk && { onChunk }) })
        })
      let url = ""
      const during = (given: string, check: Effect.Effect<unknown, unknown>, nativeSessionId: string | null) =>
        turn([{ say: "x" }], {
          manifest: {
            ...manifest,
            runtime: manifest.runtime && {
              ...manifest.runtime,
              launch: {
                ...manifest.runtime.launch,
                environment: { URL: "{{connection.base_url}}" }
              }
            }
          },
          connection: { kind: "alpha_gateway", settings, secrets: { api_key: Redacted.make(given) } },
          nativeSessionId,
          beforePrompt: () =>
            Effect.suspend(() => {
              url = environment(pids()[0] ?? 0, "URL")
              return Effect.orDie(Effect.as(check, true))
            })
        })
      const is = (status: number) => Effect.map(call("models"), (answer) => assert.strictEqual(answer.status, status))
      const started = yield* Deferred.make<void>()
      const underWay = Effect.flip(call("endless", () => Deferred.unsafeDone(started, Effect.void)))
      const open = yield* Deferred.make<Fiber.RuntimeFiber<unknown, unknown>>()
      const leaveOpen = Effect.gen(function* () {
        yield* is(200)
        yield* Deferred.succeed(open, yield* Effect.forkDaemon(underWay))
        yield* Deferred.await(started)
      })
      yield* during("key-one", leaveOpen, null)
      const [pid = 0] = pids()
      // The end of the turn breaks off what is under way.
      yield* Effect.flatMap(Deferred.await(open), Fiber.join)
      yield* is(401)
      yield* during("key-two", is(200), "s1")
      yield* is(401)
      assert.deepStrictEqual(pids(), [pid])
      assert.deepStrictEqual(keys, ["Bearer key-one", "Bearer key-one", "Bearer key-two"])
    })
  )
})

layer(poolWith({ maxIdleAgents: 1 }), { excludeTestServices: true })("a pool with one place", (it) => {
  it.scoped("keeps the agent that was used last", () =>
    Effect.gen(function* () {
      const [older, newer] = yield* Effect.all([newSession, newSession])
      yield* older.turn([{ say: "one" }])
      yield* newer.turn([{ say: "two" }])
      yield* older.until("the older is stopped", () => older.stops.length === 1)
      assert.deepStrictEqual([older.pids().length, newer.pids().length], [0, 1])
    })
  )

  it.scoped("starts none ahead of its turn where another one would have to give way", () =>
    Effect.gen(function* () {
      const pool = yield* AgentPool
      const [kept, next] = yield* Effect.all([newSession, newSession])
      yield* kept.turn([{ say: "one" }])
      assert.isFalse(yield* pool.hasRoom)
      yield* Effect.flatten(pool.prepare(next.base))
      assert.deepStrictEqual([kept.pids().length, next.pids().length], [1, 0])
      yield* pool.stop(kept.leaseId)
      assert.isTrue(yield* pool.hasRoom)
      yield* Effect.flatten(pool.prepare(next.base))
      assert.deepStrictEqual([kept.pids().length, next.pids().length], [0, 1])
    })
  )
})

layer(poolWith({ agentFreeMemory: Number.POSITIVE_INFINITY }), { excludeTestServices: true })(
  "a pool on a machine without memory",
  (it) => {
    it.scoped("keeps nothing", () =>
      Effect.gen(function* () {
        const { pids, stops, turn, until } = yield* newSession
        yield* turn([{ say: "one" }])
        yield* until("it is stopped", () => stops.length === 1)
        assert.deepStrictEqual(pids(), [])
      })
    )
  }
)

layer(poolWith({ agentIdleMs: 200 }), { excludeTestServices: true })("a pool that keeps agents shortly", (it) => {
  it.scoped("stops what is idle for longer", () =>
    Effect.gen(function* () {
      const { pids, stops, turn, until } = yield* newSession
      yield* turn([{ say: "one" }])
      yield* until("it is stopped", () => stops.length === 1)
      assert.deepStrictEqual(pids(), [])
    })
  )
})

layer(poolWith(), { excludeTestServices: true })("a pool that ends its work", (it) => {
  it.scoped("stops every agent that is kept, and nothing of them is left", () =>
    Effect.gen(function* () {
      const { base, pids, stops, turn } = yield* newSession
      yield* turn([{ say: "one" }])
      const ahead = yield* newSession
      yield* Effect.flatten(Effect.flatMap(AgentPool, (pool) => pool.prepare(ahead.base)))
      assert.deepStrictEqual([pids().length, ahead.pids().length], [1, 1])
      yield* Effect.flatMap(AgentPool, (pool) => pool.stopAll)
      assert.deepStrictEqual([pids(), ahead.pids(), stops], [[], [], ["gone"]])
      assert.isFalse(yield* Effect.flatMap(AgentPool, (pool) => pool.isKept(base.leaseId)))
    })
  )
})

layer(poolWith({ agentIdleMs: 0 }), { excludeTestServices: true })("a pool that keeps no agents", (it) => {
  it.scoped("stops each with its turn, and prepares none", () =>
    Effect.gen(function* () {
      const { base, pids, turn } = yield* newSession
      yield* Effect.flatMap(AgentPool, (pool) => Effect.asVoid(pool.prepare(base)))
      assert.deepStrictEqual(pids(), [])
      assert.strictEqual(said(yield* turn([{ say: "one" }])), "one")
      assert.deepStrictEqual(pids(), [])
    })
  )
})
