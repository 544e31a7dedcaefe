import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { defaultAgentLimits } from "@reins/base/base/AgentLimits"
import type { Event } from "@reins/base/domain/Event"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { sessionPaths } from "@reins/machine/bench/SessionPaths"
import { Executors } from "@reins/machine/executor/Executors"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { withSandboxedAgent } from "../test/execution/Agent.js"
import { outputOf, setupEnds, setups, sh } from "../test/sessions/Setups.js"
import { numberIn, ownCgroup } from "./OwnCgroup.js"

const mebibyte = 1024 ** 2
const agentLimits = { ...defaultAgentLimits, memoryBytes: 192 * mebibyte, processes: 64, processors: 0.5 }

const allocating = (bytes: number): string => `perl -e '$x = "x" x ${bytes}; print length $x'`
const bash = (cmd: string): string => script("Work.", { tool: "bash", cmd }, { say: "Done." })

/** Starts processes until none can be started, says how many there are, and ends them, because its turn lasts as long as one of them. */
const forking =
  "perl -e 'my @p; while (@p < 200) { my $p = fork; last unless defined $p; $p or sleep; push @p, $p } kill KILL => @p; print @p + 0' >forked"

it.scopedLive(
  "agents are held to memory, processes and processors by cgroups of their own, and turns say why they end",
  () =>
    Effect.flatMap(ownCgroup, ({ agent, agents }) =>
      withSandboxedAgent(
        ({ dataDir, eventsUntil, principal, runTurn, workspaceId }) =>
          Effect.gen(function* () {
            const [sandbox] = yield* (yield* Executors).list
            assert.deepStrictEqual(
              [sandbox?.limits.memory_bytes, sandbox?.limits.processes, sandbox?.limits.processors],
              [192 * mebibyte, 64, 0.5].map((value) => ({ value, enforced_by: "cgroup_v2" }))
            )
            const { id } = yield* (yield* Sessions).create(principal, workspaceId, {})

            assert.strictEqual((yield* runTurn(id, bash(allocating(64 * mebibyte)))).state, "succeeded")
            const peak = numberIn(join(agent(), "memory.peak"))
            assert.isAtLeast(peak, 64 * mebibyte)
            assert.isAtMost(peak, agentLimits.memoryBytes)

            const tooMuch = yield* runTurn(id, bash(allocating(400 * mebibyte)))
            assert.deepStrictEqual([tooMuch.state, tooMuch.reason], ["failed", "harness_crashed"])
            assert.include(
              tooMuch.reason_message ?? "",
              "The agent was ended because it may have 192 MiB of memory, and took more than that."
            )

            assert.strictEqual((yield* runTurn(id, bash(forking))).state, "succeeded")
            const forked = Number(readFileSync(join(sessionPaths(dataDir, id).workTree, "forked"), "utf8"))
            assert.isAtLeast(forked, 8)
            assert.isBelow(forked, 64)
            assert.isAtLeast(numberIn(join(agent(), "pids.events"), "max"), 1)

            const busy = script(
              "Work.",
              { tool: "bash", cmd: "while :; do :; done & while :; do :; done" },
              { say: "Done." }
            )
            const { turn_id } = yield* (yield* Messages).send(principal, id, { content: busy })
            yield* eventsUntil(id, (event: Event) => event.turn_id === turn_id && event.type === "tool.started")
            const stat = join(agent(), "cpu.stat")
            const heldBack = () => numberIn(stat, "nr_throttled")
            const [begun, spent, since] = [performance.now(), numberIn(stat, "usage_usec"), heldBack()]
            yield* Effect.promise(() => eventually("it is held back for 30 periods", () => heldBack() > since + 30))
            const share = (numberIn(stat, "usage_usec") - spent) / 1000 / (performance.now() - begun)
            assert.isAtMost(share, 0.6)
            yield* (yield* Turns).cancel(principal, turn_id ?? "")
            yield* eventsUntil(id, (event: Event) => event.turn_id === turn_id && event.type === "turn.cancelled")
          }),
        { agentLimits, turnDeadlineMs: 900_000 }
      ).pipe(Effect.ensuring(Effect.sync(() => assert.deepStrictEqual(agents(), []))))
    )
)

it.scopedLive("a session that asks for less gets less, and a setup that needs more memory fails with the reason", () =>
  Effect.flatMap(ownCgroup, ({ agents }) =>
    withSandboxedAgent(
      (given) =>
        Effect.gen(function* () {
          const { activated, project, session } = yield* setups(given)
          const limited = (line: string) =>
            project({
              executor: { backend: "bubblewrap", limits: { memory_bytes: 96 * mebibyte } },
              setup: [sh("step", line)]
            })
          const small = yield* session(yield* limited("echo done"))
          assert.strictEqual(outputOf((yield* activated(small)).events), "done\n")
          const { reason_message } = yield* given.runTurn(small, bash(allocating(128 * mebibyte)))
          assert.include(reason_message ?? "", "it may have 96 MiB of memory")

          const greedy = yield* activated(yield* session(yield* limited(allocating(128 * mebibyte))))
          assert.deepStrictEqual(setupEnds(greedy.events), ["setup.failed by commands"])
          assert.match(JSON.stringify(greedy.events.at(-1)), /was ended by SIGKILL \(.*it may have 96 MiB of memory/)
        }),
      { agentLimits, turnDeadlineMs: 900_000 }
    ).pipe(Effect.ensuring(Effect.sync(() => assert.deepStrictEqual(agents(), []))))
  )
)
