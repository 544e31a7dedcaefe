import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { bootDirectoryRemoval, makeBootDirectory } from "@reins/base/base/BootDirectory"
import { markEntry } from "@reins/base/base/Mark"
import * as Guard from "@reins/machine/executor/Guard"
import * as Local from "@reins/machine/executor/Local"
import { shellCommand } from "@reins/testing/executor/ExecutorSuite"
import { endEach, processesWhere, shown } from "@reins/testing/executor/Processes"
import { aWhile } from "@reins/testing/process/Waiting"
import { Effect, Logger, Option, Stream } from "effect"

/** An agent of a boot that works until it is ended, and what tells whether it was. */
const agentOf = Effect.fnUntraced(function* (bootId: string) {
  const executor = yield* Local.make(bootId)
  const make = yield* shellCommand
  const agent = yield* executor.spawn(make("trap '' TERM; setsid sleep 1000 & echo ready; while :; do sleep 0.1; done"))
  yield* Stream.runHead(agent.lines)
  return agent
})

const guardOf = (bootId: string) =>
  processesWhere((pid) => {
    const words = shown(pid, "cmdline").split("\0")
    return words.includes("-e") && words.includes(`BOOT=${bootId}`)
  })

const newBoot = () => `boot_guard_${process.pid}_${performance.now()}`

describe("the guard of agents", () => {
  it.scopedLive(
    "ends what a boot runs when its time has come, unless that was put off, and nothing of another boot",
    () =>
      Effect.gen(function* () {
        const [one, other] = [newBoot(), newBoot()]
        const mine = yield* agentOf(one)
        const foreign = yield* agentOf(other)
        const guard = yield* Guard.make({ bootId: one, sweeps: [] })
        guard.until(0)
        guard.until(1000_000)
        const later = yield* Guard.make({ bootId: other, sweeps: [] })
        later.until(1000_000)
        yield* Effect.repeat(aWhile, { until: () => guardOf(one).length === 1 && guardOf(other).length === 1 })
        guard.until(0)
        assert.strictEqual((yield* mine.exit).signal, "SIGKILL")
        assert.isTrue(Option.isNone(yield* Effect.timeoutOption(foreign.exit, 1)))
        const left = () => processesWhere((pid) => shown(pid, "environ").includes(markEntry({ kind: "boot", id: one })))
        yield* Effect.repeat(aWhile, { until: () => left().length === 0 })
      })
  )

  it.scopedLive("is started again when it is ended, with the time that it had", () =>
    Effect.gen(function* () {
      const bootId = newBoot()
      const agent = yield* agentOf(bootId)
      const guard = yield* Guard.make({ bootId, sweeps: [] })
      const [first = 0] = yield* Effect.repeat(
        Effect.map(aWhile, () => guardOf(bootId)),
        { until: (found) => found.length > 0 }
      )
      guard.until(500)
      endEach([first])
      assert.strictEqual((yield* agent.exit).signal, "SIGKILL")
      assert.notInclude(guardOf(bootId), first)
    }).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))
  )

  it.scopedLive(
    "ends and removes everything when who keeps it is gone, and has services of the machine do the same",
    () =>
      Effect.gen(function* () {
        const bootId = newBoot()
        const agent = yield* agentOf(bootId)
        const key = join(yield* Effect.promise(() => makeBootDirectory("ssh", bootId)), "key")
        writeFileSync(key, "canary")
        const directory = yield* temporaryDirectory
        const swept = join(directory, "swept")
        yield* Effect.scoped(
          Effect.zipRight(
            Guard.make({
              bootId,
              sweeps: [
                bootDirectoryRemoval(bootId),
                { words: ["/bin/sh", "-c", 'touch "$SWEPT"'], environment: { SWEPT: swept } }
              ]
            }),
            Effect.repeat(aWhile, { until: () => guardOf(bootId).length > 0 })
          )
        )
        assert.strictEqual((yield* agent.exit).signal, "SIGKILL")
        yield* Effect.repeat(aWhile, { until: () => existsSync(swept) && !existsSync(dirname(key)) })
      })
  )
})

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-guard-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)
