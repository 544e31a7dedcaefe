import { spawn } from "node:child_process"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { AgentCommand } from "@reins/machine/executor/Executor"
import * as Guard from "@reins/machine/executor/Guard"
import * as Local from "@reins/machine/executor/Local"
import { endProcessesOf } from "@reins/machine/executor/Orphans"
import { endNow, findMarked, groupAlive } from "@reins/machine/executor/ProcessTable"
import { familyIn } from "@reins/machine/executor/PsFamily"
import { executorSuite, shellCommand } from "@reins/testing/executor/ExecutorSuite"
import { endEach, processesWhere, shown } from "@reins/testing/executor/Processes"
import { aWhile } from "@reins/testing/process/Waiting"
import { Effect, Logger, Stream } from "effect"
import * as fc from "fast-check"

// Real processes of Linux, by the ways of a system without /proc. The tests look into /proc themselves to see what is left.

/** Runs tests as where there is no /proc. */
const withoutProc = (tests: () => void): void => {
  describe("without /proc", () => {
    beforeAll(() => {
      process.env["REINS_WITHOUT_PROC"] = "1"
    })
    afterAll(() => {
      delete process.env["REINS_WITHOUT_PROC"]
    })
    tests()
  })
}

let lifetimes = 0
/** The argument of a `sleep` that no other process has. */
const ownLifetime = (): string => `1000.${process.pid}${++lifetimes}`

const sleeping = (lifetime: string): ReadonlyArray<number> =>
  processesWhere((pid) => shown(pid, "cmdline").split("\0").slice(-2, -1)[0] === lifetime)

/** Begins an agent and waits until it has as many processes of the lifetime as it should. */
const begun = Effect.fnUntraced(function* (bootId: string, script: string, lifetime: string, count: number) {
  const make = yield* shellCommand
  const executor = yield* Local.make(bootId)
  const made: AgentCommand = make(script)
  const agent = yield* executor.spawn(made)
  yield* Stream.runHead(agent.lines)
  yield* Effect.repeat(aWhile, { until: () => sleeping(lifetime).length === count })
  return { agent, made }
})

const newBoot = () => `boot_without_proc_${process.pid}_${++lifetimes}`
const quiet = Effect.provide(Logger.remove(Logger.defaultLogger))

withoutProc(() => {
  executorSuite(
    "local",
    Effect.suspend(() => Local.make(newBoot()))
  )

  describe("an agent is ended with", () => {
    const kinds: ReadonlyArray<readonly [name: string, script: (lifetime: string) => string]> = [
      ["a child", (lifetime) => `sleep ${lifetime} & echo ready; wait`],
      ["a child of a child", (lifetime) => `sh -c 'sleep ${lifetime} & wait' & echo ready; wait`],
      ["one in a session of its own", (lifetime) => `setsid sleep ${lifetime} & echo ready; wait`],
      ["one whose parent has ended", (lifetime) => `setsid sh -c '(exec sleep ${lifetime} &)'; echo ready; cat`],
      ["one without its environment, in its group", (lifetime) => `env -i sleep ${lifetime} & echo ready; wait`],
      [
        "one without environment and group, of a parent that lives",
        (lifetime) => `env -i setsid sleep ${lifetime} & echo ready; wait`
      ],
      [
        "one that a child without environment has detached",
        (lifetime) => `env -i setsid sh -c 'setsid sleep ${lifetime} & wait' & echo ready; wait`
      ]
    ]
    /** An agent of each kind, which have begun side by side. */
    const allBegun = (boot: string) =>
      Effect.forEach(
        kinds,
        ([name, script]) => {
          const lifetime = ownLifetime()
          return Effect.map(begun(boot, script(lifetime), lifetime, 1), ({ agent }) => ({ name, agent, lifetime }))
        },
        { concurrency: "unbounded" }
      )
    const left = (all: ReadonlyArray<{ readonly name: string; readonly lifetime: string }>) =>
      all.filter(({ lifetime }) => sleeping(lifetime).length > 0).map(({ name }) => name)

    it.scopedLive("everything that it has started, at the end of its scope", () =>
      Effect.map(Effect.scoped(allBegun(newBoot())), (all) => assert.deepStrictEqual(left(all), []))
    )

    it.scopedLive("everything that it has started, by the boot that has left it, and nothing of another boot", () =>
      Effect.gen(function* () {
        const boot = newBoot()
        const all = yield* allBegun(boot)
        const lifetime = ownLifetime()
        const other = yield* begun(newBoot(), `sleep ${lifetime} & echo ready; wait`, lifetime, 1)
        yield* quiet(endProcessesOf([boot]))
        for (const { agent, name } of all) assert.strictEqual((yield* agent.exit).signal, "SIGKILL", name)
        assert.deepStrictEqual(left(all), [])
        assert.lengthOf(sleeping(lifetime), 1)
        assert.isNotEmpty(yield* Effect.promise(() => findMarked({ kind: "lease", id: other.made.leaseId })))
      })
    )
  })

  it.scopedLive("a service that ends at once ends its agents with it", () =>
    Effect.gen(function* () {
      const lifetime = ownLifetime()
      const { agent, made } = yield* begun(newBoot(), `env -i setsid sleep ${lifetime} & echo ready; wait`, lifetime, 1)
      endNow([{ kind: "lease", id: made.leaseId }])
      assert.strictEqual((yield* agent.exit).signal, "SIGKILL")
      // The signal has been sent to it too, and nobody waits for what it does.
      yield* Effect.repeat(aWhile, { until: () => sleeping(lifetime).length === 0 })
    })
  )

  it.scopedLive("the guard ends the family of a boot, and nothing of another one", () =>
    Effect.gen(function* () {
      const lifetime = ownLifetime()
      const boot = newBoot()
      const { agent } = yield* begun(boot, `env -i setsid sleep ${lifetime} & echo ready; wait`, lifetime, 1)
      const other = yield* begun(newBoot(), `sleep ${lifetime}9 & echo ready; wait`, `${lifetime}9`, 1)
      const guard = yield* Guard.make({ bootId: boot, sweeps: [] })
      guard.until(0)
      assert.strictEqual((yield* agent.exit).signal, "SIGKILL")
      yield* Effect.repeat(aWhile, { until: () => sleeping(lifetime).length === 0 })
      assert.lengthOf(sleeping(`${lifetime}9`), 1)
      assert.isTrue(yield* Effect.promise(() => groupAlive(other.agent.pid)))
    })
  )

  it.scopedLive("a group whose last process has ended and was not collected is over", () =>
    Effect.gen(function* () {
      // The parent never collects it, because it stands still.
      const parent = yield* Effect.acquireRelease(
        Effect.sync(() =>
          spawn("sh", ["-c", "setsid sh -c 'echo $$' & exec sleep 1000"], { stdio: ["ignore", "pipe", "ignore"] })
        ),
        ({ pid = 0 }) => Effect.sync(() => endEach([pid]))
      )
      const group = yield* Effect.promise(
        () => new Promise<number>((resolve) => parent.stdout?.once("data", (data) => resolve(Number(String(data)))))
      )
      yield* Effect.repeat(aWhile, { until: () => shown(group, "cmdline") === "" })
      assert.isFalse(yield* Effect.promise(() => groupAlive(group)))
    })
  )

  it.effect("says what is not promised", () =>
    Effect.map(Local.make(newBoot()), ({ isolation }) => assert.include(isolation.summary, "No promise holds"))
  )

  it.effect("an executor that makes agents without ps says so, and takes none for ended", () =>
    Effect.promise(async () => {
      const { PATH } = process.env
      process.env["PATH"] = "/nonexistent"
      try {
        const error = await findMarked({ kind: "lease", id: "lease_any" }).then(
          () => undefined,
          (cause) => cause
        )
        assert.match(String(error), /`ps` does not work/)
      } finally {
        process.env["PATH"] = PATH
      }
    })
  )
})

describe("the family in a listing of ps", () => {
  const line = (pid: number, parent: number, group: number, words: string, state = "S") =>
    `${pid} ${parent} ${group} ${state} Wed Nov 25 08:12:21 2026 ${words}`
  const entries = ["REINS_LEASE=l"]
  const pidsIn = (listing: string, own = 2) => familyIn(listing, { entries }, own)?.map(({ pid }) => pid)

  it("takes a mark as a word alone, and reads the lines of macOS", () => {
    const listing = [
      "    1     0     1 Ss   Tue 24 Nov 08:12:21 2026     /sbin/launchd",
      line(2, 1, 2, "node main.js"),
      line(3, 2, 3, "agent A=b REINS_LEASE=l HOME=/h"),
      line(4, 1, 4, "other REINS_LEASE=lx XREINS_LEASE=l"),
      line(5, 3, 5, "child"),
      "the rest of an argument 7 1 7 S",
      line(6, 1, 3, "")
    ].join("\n")
    assert.deepStrictEqual(pidsIn(listing), [3, 5, 6])
  })

  it("is unknown where the listing lacks the service itself", () => {
    assert.isUndefined(pidsIn(""))
    assert.isUndefined(pidsIn("ps: illegal option"))
  })

  it("is closed under children and groups, has nothing else, and never the service", () =>
    fc.assert(
      fc.property(
        fc.array(fc.record({ up: fc.nat(5), group: fc.nat(3), marked: fc.boolean() }), { minLength: 1, maxLength: 12 }),
        (shape) => {
          const own = 100
          const pidAt = (at: number) => 101 + at
          const rows = shape.map(({ group, marked, up }, at) => ({
            pid: pidAt(at),
            parent: up === 0 || at - up < 0 ? own : pidAt(at - up),
            group: 900 + group,
            marked
          }))
          const listing = [
            line(own, 1, own, "node"),
            ...rows.map(({ group, marked, parent, pid }) => line(pid, parent, group, marked ? "a REINS_LEASE=l" : "a"))
          ].join("\n")
          const family = new Set(pidsIn(listing, own))
          assert.isFalse(family.has(own))
          const reasons = (pid: number, parent: number, group: number, marked: boolean) =>
            marked ||
            family.has(parent) ||
            rows.some((each) => each.pid !== pid && each.group === group && family.has(each.pid))
          for (const { group, marked, parent, pid } of rows)
            assert.strictEqual(family.has(pid), reasons(pid, parent, group, marked))
          assert.isTrue(family.size === 0 || rows.some(({ marked }) => marked))
        }
      )
    ))
})
