import { existsSync, readFileSync } from "node:fs"
import { assert, layer } from "@effect/vitest"
import { findMarked } from "@reins/machine/executor/ProcessTable"
import { Harness } from "@reins/machine/harness/Harness"
import type { HarnessEvent } from "@reins/machine/harness/HarnessEvent"
import { of, place, runTurn, said, scriptedManifest, services, turnInput, turnOf } from "@reins/testing/harness/Turns"
import { aWhile } from "@reins/testing/process/Waiting"
import { Deferred, Effect, Fiber, Stream } from "effect"

const script = (...steps: ReadonlyArray<object>) => JSON.stringify(steps)

const commandLine = (pid: number): string =>
  existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/cmdline`, "utf8") : ""

layer(services, { excludeTestServices: true })("the stop of a turn over ACP", (it) => {
  it.scoped("a cancelled turn ends as cancelled", () =>
    Effect.gen(function* () {
      const cancel = yield* Deferred.make<void>()
      const where = yield* place
      const harness = yield* Harness
      const events: Array<HarnessEvent> = []
      yield* turnOf(harness.open)(
        turnInput(where, script({ say: "working" }, { hang: true }), { cancel: Deferred.await(cancel) })
      ).pipe(
        Stream.tap((event) => (event._tag === "text" ? Deferred.succeed(cancel, undefined) : Effect.void)),
        Stream.runForEach((event) => Effect.sync(() => events.push(event)))
      )
      assert.strictEqual(of(events, "ended")[0]?.stop_reason, "cancelled")
      assert.strictEqual(said(events), "working")
    })
  )

  for (const method of ["initialize", "session/new"]) {
    it.scoped(`a turn that is cancelled while its agent does not answer ${method} ends as cancelled at once`, () =>
      Effect.gen(function* () {
        const where = yield* place
        const manifest = scriptedManifest({ start_timeout_ms: 20_000 }, { HANG_AT: method })
        const cancel = yield* Deferred.make<void>()
        const harness = yield* Harness
        const input = turnInput(where, script({ say: "never" }), { manifest, cancel: Deferred.await(cancel) })
        const running = yield* Effect.fork(Stream.runCollect(turnOf(harness.open)(input)))
        const born = Effect.promise(() => findMarked({ kind: "lease", id: input.leaseId }))
        yield* Effect.repeat(Effect.zipRight(aWhile, born), { while: (found) => found.length === 0 })
        yield* Deferred.succeed(cancel, undefined)
        const events = [...(yield* Fiber.join(running))]
        assert.strictEqual(of(events, "ended")[0]?.stop_reason, "cancelled")
        assert.deepStrictEqual(yield* born, [])
      })
    )
  }

  it.scoped("an agent that does not read its input is cancelled as fast as one that does not answer", () =>
    Effect.gen(function* () {
      const where = yield* place
      const cancel = yield* Deferred.make<void>()
      const events = yield* runTurn(
        turnInput(where, script({ say: "x".repeat(1024 * 1024) }), {
          manifest: scriptedManifest({ cancel_timeout_ms: 500 }, { DEAF: "1" }),
          beforePrompt: () => Effect.as(Deferred.succeed(cancel, undefined), true),
          cancel: Deferred.await(cancel),
          deadline: "10 minutes"
        })
      )
      assert.strictEqual(of(events, "ended")[0]?.stop_reason, "cancelled")
    })
  )

  it.scoped("a daemon that left the group is gone with the turn", () =>
    Effect.gen(function* () {
      const where = yield* place
      const input = turnInput(where, script({ daemon: true }, { say: "left one behind" }))
      yield* runTurn(input)
      const pid = Number(readFileSync(`${where.homeDir}/daemon.pid`, "utf8"))
      assert.deepStrictEqual(yield* Effect.promise(() => findMarked({ kind: "lease", id: input.leaseId })), [])
      // Nobody may have collected it yet, but it runs no more.
      assert.strictEqual(commandLine(pid), "")
    })
  )

  it.scoped("interrupting the stream leaves no process, even of an agent that ignores the end of its input", () =>
    Effect.gen(function* () {
      const where = yield* place
      const working = yield* Deferred.make<void>()
      const harness = yield* Harness
      const input = turnInput(where, script({ daemon: true }, { say: "working" }, { hang: true }), {
        manifest: scriptedManifest({}, { STAY: "1" })
      })
      const running = yield* turnOf(harness.open)(input).pipe(
        Stream.runForEach((event) => (event._tag === "text" ? Deferred.succeed(working, undefined) : Effect.void)),
        Effect.fork
      )
      yield* Deferred.await(working)
      assert.strictEqual((yield* Effect.promise(() => findMarked({ kind: "lease", id: input.leaseId }))).length, 2)
      yield* Fiber.interrupt(running)
      assert.deepStrictEqual(yield* Effect.promise(() => findMarked({ kind: "lease", id: input.leaseId })), [])
    })
  )
})
