import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { defaultAgentLimits } from "@reins/core/base/AgentLimits"
import { noLimits } from "@reins/core/domain/EnforcedLimits"
import * as Container from "@reins/core/executor/Container"
import { shellCommand } from "@reins/testing/executor/ExecutorSuite"
import { Chunk, Effect, Stream } from "effect"

const mebibyte = 1024 ** 2
const limits = { ...defaultAgentLimits, memoryBytes: 128 * mebibyte, processes: 64, processors: 0.5 }

const made = Effect.gen(function* () {
  const cacheDir = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-limits-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
  const engine = process.env["REINS_TEST_CONTAINER_ENGINE"] === "docker" ? "docker" : "podman"
  const image = process.env["REINS_TEST_CONTAINER_IMAGE"] ?? null
  return yield* Container.make("boot_container_limits", { image, engine, cacheDir, limits })
})

const ended = Effect.fnUntraced(function* (script: string) {
  const executor = yield* made
  const agent = yield* executor.spawn((yield* shellCommand)(script))
  const lines = Chunk.toReadonlyArray(yield* Stream.runCollect(agent.lines))
  return { lines, exit: yield* agent.exit }
})

it.scopedLive("the catalog tells that cgroups of version 2 hold containers to memory, processes and processors", () =>
  Effect.map(made, ({ isolation: { limits: held = noLimits } }) =>
    assert.deepStrictEqual(
      [held.memory_bytes, held.processes, held.processors],
      [128 * mebibyte, 64, 0.5].map((value) => ({ value, enforced_by: "cgroup_v2" }))
    )
  )
)

it.scopedLive("a program that needs too much memory is killed, and an agent that does says so", () =>
  Effect.gen(function* () {
    const tool = yield* ended("perl -e '$x = \"x\" x 400000000'; echo $?; perl -e '$x = \"x\" x 40000000'; echo $?")
    assert.deepStrictEqual(tool, { lines: ["137", "0"], exit: { code: 0, signal: null } })
    const { exit } = yield* ended("exec perl -e '$x = \"x\" x 400000000'")
    assert.strictEqual(exit.signal, "SIGKILL")
    assert.match(exit.reason ?? "", /most likely because it needed more than the 128 MiB of memory/)
  })
)

it.scopedLive("processes and processors are bounded", () =>
  Effect.gen(function* () {
    const forking =
      "my $n = 0; while ($n < 200) { my $p = fork; last unless defined $p; if (!$p) { sleep 600 } $n++ } print $n"
    const { lines } = yield* ended(`perl -e '${forking}'`)
    assert.isAtLeast(Number(lines[0]), 8)
    assert.isBelow(Number(lines[0]), 64)
    // Two seconds of work take four with half of a processor.
    const busy = "fork; 1 while (times)[0] < 1; wait"
    const begun = performance.now()
    yield* ended(`perl -e '${busy}'`)
    assert.isAtLeast(performance.now() - begun, 3000)
  })
)
