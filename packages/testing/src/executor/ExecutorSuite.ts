import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import type { AgentCommand, Executor } from "@reins/machine/executor/Executor"
import { Chunk, Effect, Redacted, type Scope, Stream } from "effect"

let leases = 0

/** Makes shell commands with a directory of their own. */
export const shellCommand = Effect.gen(function* () {
  const root = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(path.join(tmpdir(), "reins-executor-"))),
    // A command that was not started may still be making its directories.
    (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }))
  )
  const homeDir = path.join(root, "home")
  return (script: string, changes: Partial<AgentCommand> = {}): AgentCommand => ({
    leaseId: `lease-executor-${process.pid}-${++leases}`,
    executable: "/bin/sh",
    args: ["-c", script],
    workspaceDir: path.join(root, "workspace"),
    homeDir,
    tmpDir: path.join(homeDir, "tmp"),
    programDirs: [],
    relayPorts: [],
    environment: {},
    stop: { stdin_eof_ms: 200, sigterm_ms: 200 },
    ...changes
  })
})

const outputOf = (executor: Executor, made: AgentCommand) =>
  Effect.scoped(
    Effect.gen(function* () {
      const process = yield* executor.spawn(made)
      return Chunk.toReadonlyArray(yield* Stream.runCollect(process.lines))
    })
  )

/** The promises of `Executor`, for one way to run agents that sees the files of this machine. */
export const executorSuite = (name: string, given: Effect.Effect<Executor, never, Scope.Scope>): void => {
  describe(`the executor ${name}`, () => {
    it.scopedLive("gives a home of its own and an environment without the service's", () =>
      Effect.gen(function* () {
        process.env.REINS_TEST_PRIVATE = "private"
        process.env.HTTPS_PROXY ??= "http://private.example:3128"
        const make = yield* shellCommand
        const made = make("env; pwd", { environment: { GIVEN: Redacted.make("secret"), HOME: "/elsewhere" } })
        const lines = yield* outputOf(yield* given, made)
        assert.includeMembers([...lines], [`HOME=${made.homeDir}`, `TMPDIR=${made.tmpDir}`, "GIVEN=secret"])
        assert.includeMembers([...lines], [`XDG_DATA_HOME=${made.homeDir}/.local/share`, made.workspaceDir])
        assert.notInclude(lines.join("\n"), "private")
        assert.notMatch(lines.join("\n"), /^https?_proxy=/im)
      })
    )

    it.scopedLive("hands out whole lines, and the end without a newline", () =>
      Effect.gen(function* () {
        const make = yield* shellCommand
        assert.deepStrictEqual(
          [...(yield* outputOf(yield* given, make("printf 'one\\r\\n\\ntwo\\nthree'")))],
          ["one", "two", "three"]
        )
      })
    )

    it.scopedLive("writes lines, tells the exit and keeps the end of stderr", () =>
      Effect.gen(function* () {
        const make = yield* shellCommand
        const process = yield* (yield* given).spawn(make("read line; echo got $line; seq 1 20000 >&2; exit 3"))
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
        const make = yield* shellCommand
        const executor = yield* given
        const error = yield* Effect.flip(Effect.scoped(executor.spawn(make("", { executable: "/does/not/exist" }))))
        assert.strictEqual(error.kind, "spawn_failed")
      })
    )

    it.scopedLive("stops in order: cancel, close, end of stdin; what is gone is not signalled", () =>
      Effect.gen(function* () {
        const make = yield* shellCommand
        const steps: Array<string> = []
        const note = (step: string) => Effect.sync(() => steps.push(step))
        const made = make("cat > /dev/null; exit 7", {
          stop: { cancel_ms: 100, close_ms: 100, stdin_eof_ms: 2000, sigterm_ms: 2000 }
        })
        const process = yield* (yield* given).spawn(made)
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

    it.scopedLive("closing the scope ends a process that ignores every polite request, and what it has started", () =>
      Effect.gen(function* () {
        const make = yield* shellCommand
        const executor = yield* given
        const made = make("trap '' TERM; setsid sleep 1003 & sleep 1003 & echo ready; while :; do sleep 0.1; done")
        const process = yield* Effect.scoped(Effect.tap(executor.spawn(made), ({ lines }) => Stream.runHead(lines)))
        assert.strictEqual((yield* process.exit).signal, "SIGKILL")
        assert.deepStrictEqual(yield* executor.reap(made.leaseId), [])
      })
    )

    it.scopedLive("ends what a turn has started and nothing else, where it can tell the processes apart", () =>
      Effect.gen(function* () {
        const make = yield* shellCommand
        const executor = yield* given
        const made = make(
          "sleep 1005 & first=$!; echo ready; read go; trap '' TERM; setsid sleep 1006 & env -i setsid sleep 1006 & echo begun; read end; " +
            "kill -KILL $first; wait $first; [ $? = 137 ] && exit 7"
        )
        const running = yield* executor.spawn(made)
        const lines = yield* Stream.toPull(running.lines)
        yield* lines
        if (running.endLaterProcesses === undefined) return
        const endLater = yield* running.endLaterProcesses
        assert.deepStrictEqual(yield* endLater, [])
        yield* running.write("go")
        yield* lines
        assert.strictEqual((yield* endLater).length, 2)
        assert.deepStrictEqual(yield* endLater, [])
        // The agent goes on, and what was there before lived until this kill: a polite end would have given it another code.
        yield* running.write("end")
        assert.strictEqual((yield* running.exit).code, 7)
      })
    )

    it.scopedLive("reap ends what bears a lease and says what that was, and nothing of another lease", () =>
      Effect.gen(function* () {
        const make = yield* shellCommand
        const executor = yield* given
        const [mine, other] = [make("echo ready; exec sleep 1004"), make("echo ready; exec sleep 1004")]
        const [running, left] = yield* Effect.all([executor.spawn(mine), executor.spawn(other)])
        yield* Effect.forEach([running, left], ({ lines }) => Stream.runHead(lines))
        assert.isNotEmpty(yield* executor.reap(mine.leaseId))
        assert.strictEqual((yield* running.exit).signal, "SIGKILL")
        assert.deepStrictEqual(yield* executor.reap(mine.leaseId), [])
        assert.isNotEmpty(yield* executor.reap(other.leaseId))
      })
    )

    it.scopedLive("says of itself what people have to know", () =>
      Effect.map(given, ({ backend, isolation }) => {
        assert.match(backend, /^[a-z][a-z0-9_-]*$/)
        assert.isNotEmpty(isolation.summary)
      })
    )
  })
}
