import { assert, it } from "@effect/vitest"
import { Changesets } from "@reins/core/changes/Changesets"
import { Connections } from "@reins/core/connections/Connections"
import { HarnessSwitches } from "@reins/core/execution/executor/HarnessSwitches"
import { SessionExecutors } from "@reins/core/execution/executor/SessionExecutors"
import { Jobs } from "@reins/core/jobs/Jobs"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { processesOf } from "@reins/testing/executor/Processes"
import { aWhile } from "@reins/testing/process/Waiting"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { canary, say, withAgent } from "./Agent.js"

const wordsOf = (request: { readonly messages: ReadonlyArray<{ readonly text: string }> }): string =>
  request.messages.map(({ text }) => text).join("\n")

for (const { layer, name } of flowDatabases) {
  it.scopedLive(
    `a release by force ends the turn of a working agent and all of its processes, and keeps its files, on ${name}`,
    () =>
      withAgent(
        "alpha_gateway",
        ({ eventsUntil, principal, runTurn, workspaceId }) =>
          Effect.gen(function* () {
            const executors = yield* SessionExecutors
            const messages = yield* Messages
            const turns = yield* Turns
            const session = yield* (yield* Sessions).create(principal, workspaceId, {})
            const working = yield* messages.send(principal, session.id, {
              content: script(
                "Wait.",
                { tool: "bash", cmd: "printf half > half.txt; tail -s 37 -f /dev/null" },
                { say: "never" }
              )
            })
            const waiting = yield* messages.send(principal, session.id, { content: say("My turn.") })
            yield* eventsUntil(session.id, (event) => event.type === "tool.started")
            // The tool is told of before it has done anything.
            const files = yield* SessionFiles
            yield* Effect.repeat(Effect.zipRight(aWhile, files.list(principal, session.id, "")), {
              until: ({ items }) => items.some((file) => file.path === "half.txt")
            })
            const { lease } = yield* executors.get(principal, session.id)
            assert.isNotEmpty(processesOf(lease.id ?? ""))
            const asked = yield* Effect.flip(executors.release(principal, session.id, {}))
            assert.strictEqual(asked.code, "turn_active")

            const released = yield* executors.release(principal, session.id, { force: true })
            assert.deepStrictEqual([released.executor.lease.id, released.executor.lease.state], [lease.id, "quiescing"])
            const jobs = yield* Jobs
            yield* eventsUntil(session.id, (event) => event.type === "executor.released")
            const operation = yield* Effect.repeat(
              Effect.zipRight(aWhile, jobs.operation(principal, released.operation.id)),
              { until: ({ finished_at }) => finished_at !== null }
            )
            assert.strictEqual(operation.state, "succeeded", JSON.stringify(operation))
            assert.isEmpty(processesOf(lease.id ?? ""))
            const states = yield* Effect.forEach([working, waiting], ({ turn_id: id }) =>
              turns.get(principal, id ?? "")
            )
            assert.deepStrictEqual(
              states.map(({ reason, state }) => [state, reason]),
              [
                ["cancelled", "user_cancelled"],
                ["cancelled", "user_cancelled"]
              ]
            )
            const after = yield* executors.get(principal, session.id)
            assert.deepStrictEqual([after.lease.id, after.lease.state], [lease.id, "released"])
            const events = yield* eventsUntil(session.id, (event) => event.type === "executor.released")
            assert.strictEqual(events.at(-1)?.payload["reason"], "requested")
            assert.strictEqual(events.filter((event) => event.type === "turn.cancelled").length, 2)
            const [salvaged] = (yield* (yield* Changesets).list(principal, session.id, {})).items
            assert.deepStrictEqual(
              [salvaged?.origin, salvaged?.files.map(({ path }) => path)],
              ["salvage", ["half.txt"]]
            )

            const next = yield* runTurn(
              session.id,
              script("Look.", { tool: "bash", cmd: "cat half.txt" }, { say: "Ok." })
            )
            assert.strictEqual(next.state, "succeeded", JSON.stringify(next))
            const now = yield* executors.get(principal, session.id)
            assert.strictEqual(now.lease.state, "ready")
            assert.notStrictEqual(now.lease.id, lease.id)
          }),
        {},
        undefined,
        layer
      ),
    240_000
  )

  it.scopedLive(
    `the agent of a switched session is told the summary, once, and nothing else of the old session, on ${name}`,
    () =>
      withAgent(
        "alpha_gateway",
        ({ gateway, principal, runTurn, workspaceId }) =>
          Effect.gen(function* () {
            const connections = yield* Connections
            const beta = yield* connections.create(principal, workspaceId, {
              kind: "beta",
              label: "scripted",
              credential: { base_url: gateway.url, api_key: canary }
            })
            yield* connections.update(principal, beta.id, { preferred_model: "scripted-1" })
            const old = yield* (yield* Sessions).create(principal, workspaceId, { title: "The tamarind question" })
            const steps = [{ tool: "bash", cmd: "printf persimmon > persimmon.txt" }, { say: "It is a quince." }]
            const first = yield* runTurn(old.id, script("Remember the marzipan.", ...steps))
            assert.strictEqual(first.state, "succeeded", JSON.stringify(first))
            const secrets = ["tamarind", "marzipan", "persimmon", "quince", old.id]
            assert.include(gateway.requests.map(wordsOf).join("\n"), "marzipan")

            const summary = "The plover is half painted; its wings are missing."
            const input = { harness: { provider_id: "beta" }, summary }
            const made = yield* (yield* HarnessSwitches).create(principal, old.id, input)
            const before = gateway.requests.length
            const look = script("Paint on.", { tool: "bash", cmd: "ls -A" }, { say: "Painted." })
            const turn = yield* runTurn(made.id, look)
            assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
            const again = yield* runTurn(made.id, say("Still painted."))
            assert.strictEqual(again.state, "succeeded", JSON.stringify(again))

            const requests = gateway.requests.slice(before).filter(({ messages }) => messages.length > 0)
            assert.isAtLeast(requests.length, 3)
            for (const request of requests) {
              const words = wordsOf(request)
              assert.strictEqual(words.split(summary).length, 2, words)
              for (const secret of secrets) assert.notInclude(words, secret)
            }
            const said = requests[0]?.messages.findLast(({ role }) => role === "user")?.text ?? ""
            assert.isBelow(said.indexOf(summary), said.indexOf("Paint on."), said)
            const [handoff] = (yield* (yield* Messages).list(principal, made.id, {})).items
            assert.deepStrictEqual([handoff?.kind, handoff?.state], ["handoff_summary", "delivered"])
          }),
        {},
        undefined,
        layer
      ),
    240_000
  )
}
