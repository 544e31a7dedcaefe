import { execFileSync } from "node:child_process"
import { assert, it } from "@effect/vitest"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { processesOf } from "@reins/testing/executor/Processes"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { canary, isTurnEnd, say, withAgent } from "./Agent.js"

it.scopedLive(
  "a gateway that refuses, fails or breaks off fails the turn with a reason, and the session goes on",
  () =>
    withAgent("alpha_gateway", ({ principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const session = yield* (yield* Sessions).create(principal, workspaceId, {})
        const refused = yield* runTurn(session.id, script("Try.", { error: 401 }))
        assert.deepStrictEqual(
          [refused.state, refused.reason],
          ["failed", "credential_invalid"],
          JSON.stringify(refused)
        )
        const wrong = yield* runTurn(session.id, script("Try.", { error: 400, message: "no such model" }))
        assert.deepStrictEqual([wrong.state, wrong.reason], ["failed", "upstream_error"], JSON.stringify(wrong))
        assert.include(wrong.reason_message, "no such model")
        const broken = yield* runTurn(session.id, script("Try.", { say: "I begin and", drop: true }))
        assert.deepStrictEqual([broken.state, broken.reason], ["failed", "upstream_error"], JSON.stringify(broken))
        const fine = yield* runTurn(session.id, say("Here again."))
        assert.strictEqual(fine.state, "succeeded", JSON.stringify(fine))
      })
    ),
  180_000
)

it.scopedLive(
  "a gateway that hangs ends the turn at its deadline",
  () =>
    withAgent(
      "alpha_gateway",
      ({ principal, runTurn, workspaceId }) =>
        Effect.gen(function* () {
          const session = yield* (yield* Sessions).create(principal, workspaceId, {})
          const hung = yield* runTurn(session.id, script("Try.", { hang: true }))
          assert.deepStrictEqual([hung.state, hung.reason], ["failed", "timeout"], JSON.stringify(hung))
          const fine = yield* runTurn(session.id, say("Here again."))
          assert.strictEqual(fine.state, "succeeded", JSON.stringify(fine))
        }),
      { turnDeadlineMs: 3000 }
    ),
  120_000
)

it.scopedLive(
  "an agent that is killed in mid-turn fails the turn, leaves nothing behind, and the next turn resumes",
  () =>
    withAgent("alpha_gateway", ({ eventsUntil, gateway, principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const session = yield* sessions.create(principal, workspaceId, {})
        yield* runTurn(session.id, say("Remember the word marzipan."))
        const { turn_id: turnId } = yield* (yield* Messages).send(principal, session.id, {
          content: script("Wait.", { tool: "bash", cmd: "tail -s 37 -f /dev/null" }, { say: "never" })
        })
        yield* eventsUntil(session.id, (event) => event.turn_id === turnId && event.type === "tool.started")
        const { executor } = yield* sessions.get(principal, session.id)
        const lease = executor.lease_id ?? ""
        const running = processesOf(lease)
        assert.isNotEmpty(running)
        assert.notInclude(
          execFileSync("ps", ["-ww", "-o", "args=", "-p", running.join(",")], { encoding: "utf8" }),
          canary
        )
        process.kill(Math.min(...running), "SIGKILL")
        yield* eventsUntil(session.id, (event) => event.turn_id === turnId && isTurnEnd(event))
        const killed = yield* (yield* Turns).get(principal, turnId ?? "")
        assert.deepStrictEqual([killed.state, killed.reason], ["failed", "harness_crashed"], JSON.stringify(killed))
        assert.isEmpty(processesOf(lease))
        const next = yield* runTurn(session.id, say("I know."))
        assert.strictEqual(next.state, "succeeded", JSON.stringify(next))
        const seen = gateway.requests.filter((request) => request.tools.length > 0).at(-1)
        assert.isTrue(seen?.messages.some((message) => message.text.includes("marzipan")))
      })
    ),
  180_000
)

it.scopedLive(
  "a running turn that is cancelled ends cancelled with no process of it left, and the queue goes on",
  () =>
    withAgent("alpha_gateway", ({ eventsUntil, principal, workspaceId }) =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const turns = yield* Turns
        const messages = yield* Messages
        const session = yield* sessions.create(principal, workspaceId, {})
        const first = yield* messages.send(principal, session.id, {
          content: script("Wait.", { tool: "bash", cmd: "tail -s 37 -f /dev/null" }, { say: "never" })
        })
        const second = yield* messages.send(principal, session.id, { content: say("My turn.") })
        yield* eventsUntil(session.id, (event) => event.turn_id === first.turn_id && event.type === "tool.started")
        assert.strictEqual((yield* turns.cancel(principal, first.turn_id ?? "")).state, "cancelling")
        const lease = (yield* sessions.get(principal, session.id)).executor.lease_id ?? ""
        const cancelled = processesOf(lease)
        assert.isNotEmpty(cancelled)
        yield* eventsUntil(session.id, (event) => event.turn_id === second.turn_id && isTurnEnd(event))
        assert.strictEqual((yield* turns.get(principal, first.turn_id ?? "")).state, "cancelled")
        assert.strictEqual((yield* turns.get(principal, second.turn_id ?? "")).state, "succeeded")
        // The agent of the second turn is kept for a third.
        assert.notIncludeMembers([...processesOf(lease)], [...cancelled])
        assert.lengthOf(processesOf(lease), 1)
      })
    ),
  180_000
)
