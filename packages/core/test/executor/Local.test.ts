import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { environmentOf, inheritedVariables } from "@reins/machine/executor/AgentEnvironment"
import type { AgentCommand } from "@reins/machine/executor/Executor"
import * as Local from "@reins/machine/executor/Local"
import { endProcessesOf } from "@reins/machine/executor/Orphans"
import { findMarked } from "@reins/machine/executor/ProcessTable"
import { shellCommand } from "@reins/testing/executor/ExecutorSuite"
import { aWhile } from "@reins/testing/process/Waiting"
import { Effect, Logger, Redacted, Stream } from "effect"

const executor = await Effect.runPromise(Local.make(`boot_local_${process.pid}`))

const leaseOf = (id: string) => ({ kind: "lease" as const, id })

const left = (made: AgentCommand) => Effect.promise(() => findMarked(leaseOf(made.leaseId)))

describe("the local executor", () => {
  it.scopedLive(
    "closing the scope ends a process that ignores every polite request, with its children and daemons",
    () =>
      Effect.gen(function* () {
        const make = yield* shellCommand
        const made = make("trap '' TERM; setsid sleep 1000 & sleep 1000 & echo ready; while :; do sleep 0.1; done")
        yield* Effect.scoped(
          Effect.gen(function* () {
            const process = yield* executor.spawn(made)
            yield* Stream.runHead(process.lines)
            assert.isAtLeast((yield* left(made)).length, 3)
          })
        )
        assert.deepStrictEqual(yield* left(made), [])
      })
  )

  it.scopedLive(
    "a daemon that has left its session, its parents, its directory and its environment behind is found by its limits",
    () =>
      Effect.gen(function* () {
        const make = yield* shellCommand
        const made = make("env -i setsid sh -c 'cd / && (exec sleep 1001 &)' </dev/null >/dev/null 2>&1; echo gone")
        yield* Effect.scoped(
          Effect.gen(function* () {
            const process = yield* executor.spawn(made)
            yield* Stream.runDrain(process.lines)
            yield* process.exit
            // The shell in the middle becomes the daemon.
            const [daemon] = yield* Effect.repeat(Effect.zipRight(aWhile, left(made)), {
              until: ([first]) => first?.command === "sleep"
            })
            assert.notInclude(readFileSync(`/proc/${daemon?.pid}/environ`, "utf8"), "REINS")
          })
        )
        assert.deepStrictEqual(yield* left(made), [])
      })
  )

  it.scopedLive(
    "everything that boots have started is ended by their ids, whatever its lease, and nothing of another boot",
    () =>
      Effect.gen(function* () {
        const make = yield* shellCommand
        const started = Effect.fnUntraced(function* (boot: string) {
          const made = make("env -i setsid sleep 1002 & exec sleep 1002")
          const process = yield* (yield* Local.make(boot)).spawn(made)
          yield* Effect.repeat(Effect.zipRight(aWhile, left(made)), { until: (processes) => processes.length === 2 })
          return { made, process }
        })
        const boots = [`boot_ended_${process.pid}`, `boot_before_${process.pid}`]
        const ended = yield* Effect.forEach(boots, started)
        const living = yield* started(`boot_living_${process.pid}`)
        yield* endProcessesOf(boots).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))
        for (const each of ended)
          assert.deepStrictEqual([yield* left(each.made), (yield* each.process.exit).signal], [[], "SIGKILL"])
        assert.strictEqual((yield* left(living.made)).length, 2)
      })
  )

  it.scopedLive("reap ends what a crashed service left, and nothing of another lease", () =>
    Effect.gen(function* () {
      const start = (leaseId: string) =>
        Effect.acquireRelease(
          Effect.sync(() =>
            spawn("sleep", ["1000"], { detached: true, stdio: "ignore", env: { REINS_LEASE: leaseId } })
          ),
          (child) => Effect.sync(() => child.kill("SIGKILL"))
        )
      const own = `lease-reap-${process.pid}`
      const [mine, other] = yield* Effect.all([start(own), start(`${own}-other`)])
      const reaped = yield* executor.reap(own)
      assert.deepStrictEqual(
        reaped.map((each) => each.pid),
        [mine.pid]
      )
      assert.deepStrictEqual(yield* executor.reap(own), [])
      assert.strictEqual((yield* Effect.promise(() => findMarked(leaseOf(`${own}-other`))))[0]?.pid, other.pid)
    })
  )

  it("gives an agent none of the operator's proxies and secrets, and what programs need to run", () => {
    const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"].flatMap((name) => [name, name.toLowerCase()])
    const kept = { ...process.env }
    for (const name of [...names, "REINS_SMTP_URL", "SSH_AUTH_SOCK"])
      process.env[name] = "http://user:secret@proxy.example"
    try {
      const command = { leaseId: "l", homeDir: "/h", tmpDir: "/h/tmp", environment: { OWN: Redacted.make("1") } }
      const environment = environmentOf(command, "boot", inheritedVariables)
      assert.notInclude(JSON.stringify(environment), "proxy.example")
      assert.deepInclude(environment, { PATH: process.env["PATH"], HOME: "/h", OWN: "1" })
    } finally {
      for (const name of Object.keys(process.env)) if (!(name in kept)) delete process.env[name]
      Object.assign(process.env, kept)
    }
  })

  it("says that it is no security boundary", () => {
    assert.deepInclude(executor.isolation, { level: "none", own_home: true, filesystem: "shared", network: "shared" })
  })
})
