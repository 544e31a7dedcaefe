import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import type { AgentCommand } from "@reins/core/executor/Executor"
import * as Local from "@reins/core/executor/Local"
import { endProcessesOf } from "@reins/core/executor/Orphans"
import { bearing } from "@reins/core/executor/ProcessTable"
import { Chunk, Effect, Logger, Redacted, Stream } from "effect"

let leases = 0

const executor = await Effect.runPromise(Local.make(`boot_local_${process.pid}`))

const leaseOf = (id: string) => ({ kind: "lease" as const, id })

const command = Effect.gen(function* () {
  const root = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(path.join(tmpdir(), "reins-local-"))),
    (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
  )
  const homeDir = path.join(root, "home")
  return (script: string, changes: Partial<AgentCommand> = {}): AgentCommand => ({
    leaseId: `lease-local-${process.pid}-${++leases}`,
    executable: "/bin/sh",
    args: ["-c", script],
    workspaceDir: path.join(root, "workspace"),
    homeDir,
    tmpDir: path.join(homeDir, "tmp"),
    programDirs: [],
    environment: {},
    stop: { stdin_eof_ms: 200, sigterm_ms: 200 },
    ...changes
  })
})

const output = (made: AgentCommand) =>
  Effect.scoped(
    Effect.gen(function* () {
      const process = yield* executor.spawn(made)
      return Chunk.toReadonlyArray(yield* Stream.runCollect(process.lines))
    })
  )

const left = (made: AgentCommand) => Effect.promise(() => bearing(leaseOf(made.leaseId)))

describe("the local executor", () => {
  it.scopedLive("gives a home of its own and an environment without the service's", () =>
    Effect.gen(function* () {
      process.env.REINS_TEST_PRIVATE = "private"
      const make = yield* command
      const made = make("env; pwd", { environment: { GIVEN: Redacted.make("secret"), HOME: "/elsewhere" } })
      const lines = yield* output(made)
      assert.includeMembers(
        [...lines],
        [`HOME=${made.homeDir}`, `TMPDIR=${made.tmpDir}`, `REINS_LEASE=${made.leaseId}`, "GIVEN=secret"]
      )
      assert.includeMembers([...lines], [`XDG_DATA_HOME=${made.homeDir}/.local/share`, made.workspaceDir])
      assert.notInclude(lines.join("\n"), "private")
    })
  )

  it.scopedLive("hands out whole lines, and the end without a newline", () =>
    Effect.gen(function* () {
      const make = yield* command
      assert.deepStrictEqual([...(yield* output(make("printf 'one\\r\\n\\ntwo\\nthree'")))], ["one", "two", "three"])
    })
  )

  it.scopedLive("writes lines, tells the exit and keeps the end of stderr", () =>
    Effect.gen(function* () {
      const make = yield* command
      const process = yield* executor.spawn(make("read line; echo got $line; seq 1 20000 >&2; exit 3"))
      yield* process.write("hello")
      assert.deepStrictEqual([...(yield* Stream.runCollect(process.lines))], ["got hello"])
      assert.deepStrictEqual(yield* process.exit, { code: 3, signal: null })
      yield* Stream.runDrain(process.stderrLines)
      const tail = yield* process.stderrTail
      assert.isTrue(tail.endsWith("20000\n"))
      assert.isAtMost(tail.length, 16 * 1024)
    })
  )

  it.scopedLive("a command that cannot start is an error, not a defect", () =>
    Effect.gen(function* () {
      const make = yield* command
      const error = yield* Effect.flip(Effect.scoped(executor.spawn(make("", { executable: "/does/not/exist" }))))
      assert.strictEqual(error.kind, "spawn_failed")
    })
  )

  it.scopedLive(
    "closing the scope ends a process that ignores every polite request, with its children and daemons",
    () =>
      Effect.gen(function* () {
        const make = yield* command
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
        const make = yield* command
        const made = make("env -i setsid sh -c 'cd / && (exec sleep 1001 &)' </dev/null >/dev/null 2>&1; echo gone")
        yield* Effect.scoped(
          Effect.gen(function* () {
            const process = yield* executor.spawn(made)
            yield* Stream.runDrain(process.lines)
            yield* process.exit
            const [daemon] = yield* left(made)
            assert.strictEqual(daemon?.command, "sleep")
            assert.notInclude(readFileSync(`/proc/${daemon?.pid}/environ`, "utf8"), "REINS")
          })
        )
        assert.deepStrictEqual(yield* left(made), [])
      })
  )

  it.scopedLive(
    "everything that a boot has started is ended by its id, whatever its lease, and nothing of another boot",
    () =>
      Effect.gen(function* () {
        const make = yield* command
        const started = Effect.fnUntraced(function* (boot: string) {
          const made = make("env -i setsid sleep 1002 & exec sleep 1002")
          const process = yield* (yield* Local.make(boot)).spawn(made)
          yield* Effect.repeat(left(made), { until: (processes) => processes.length === 2 })
          return { made, process }
        })
        const ended = yield* started(`boot_ended_${process.pid}`)
        const living = yield* started(`boot_living_${process.pid}`)
        yield* endProcessesOf(`boot_ended_${process.pid}`).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))
        assert.deepStrictEqual([yield* left(ended.made), (yield* ended.process.exit).signal], [[], "SIGKILL"])
        assert.strictEqual((yield* left(living.made)).length, 2)
      })
  )

  it.scopedLive("stops in order: cancel, close, end of stdin; what is gone is not signalled", () =>
    Effect.gen(function* () {
      const make = yield* command
      const steps: Array<string> = []
      const note = (step: string) => Effect.sync(() => steps.push(step))
      const made = make("cat > /dev/null; exit 7", {
        stop: { cancel_ms: 100, close_ms: 100, stdin_eof_ms: 2000, sigterm_ms: 2000 }
      })
      const process = yield* executor.spawn(made)
      yield* process.stop({
        cancel: Effect.zipRight(note("cancel"), Effect.never),
        close: Effect.zipRight(note("close"), Effect.fail("no"))
      })
      assert.deepStrictEqual(steps, ["cancel", "close"])
      assert.deepStrictEqual(yield* process.exit, { code: 7, signal: null })
      yield* process.stop({ cancel: note("again") })
      assert.strictEqual(steps.length, 2)
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
      assert.strictEqual((yield* Effect.promise(() => bearing(leaseOf(`${own}-other`))))[0]?.pid, other.pid)
    })
  )

  it("says that it is no security boundary", () => {
    assert.deepInclude(executor.isolation, { level: "none", own_home: true, filesystem: "shared", network: "shared" })
  })
})
