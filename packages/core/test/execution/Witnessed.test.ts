import { assert, it } from "@effect/vitest"
import { Connections } from "@reins/core/connections/Connections"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Usages } from "@reins/core/sessions/usage/Usages"
import { processesOf } from "@reins/testing/executor/Processes"
import { hidingAgents } from "@reins/testing/harness/SmallAgent"
import { variants } from "@reins/testing/Variants"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { canary, isTurnEnd, say, withAgent } from "./Agent.js"

const work = { tool: "bash", cmd: "true" }

it.scopedLive(
  "a refused, dropped or garbled call fails the turn of an agent that calls it a success, and what was used counts",
  () =>
    withAgent(
      "alpha_gateway",
      ({ connectionId, principal, runTurn, workspaceId }) =>
        Effect.gen(function* () {
          const connections = yield* Connections
          const usages = yield* Usages
          const { id } = yield* (yield* Sessions).create(principal, workspaceId, {})
          const health = Effect.map(connections.get(principal, connectionId), (connection) => connection.health)
          for (const [step, reason, words] of [
            [{ error: 402 }, "quota_exhausted", "402: Insufficient credits."],
            [{ error: 429 }, "quota_exhausted", "429: Rate limit reached."],
            [{ error: 500 }, "upstream_error", "500"],
            [{ say: "I begin and", drop: true }, "upstream_error", "broke off"],
            [{ garble: "<html>Welcome</html>" }, "upstream_error", "none that the protocol knows"],
            [{ error: 401 }, "credential_invalid", "401: Incorrect API key provided."]
          ] as const) {
            const turn = yield* runTurn(id, script("Try.", step))
            assert.deepStrictEqual([turn.state, turn.reason], ["failed", reason], JSON.stringify(turn))
            assert.include(turn.reason_message, words)
            assert.deepInclude(turn.usage, {
              calls: 1,
              reported_calls: 0,
              input_tokens: null,
              cost_usd: null,
              source: null
            })
          }
          assert.strictEqual(yield* health, "reauth_required")

          yield* connections.update(principal, connectionId, {
            prices: { "scripted-1": { input: 2, cached: 0.5, output: 10 } }
          })
          const half = yield* runTurn(id, script("Try.", work, { error: 500 }))
          assert.deepStrictEqual([half.state, half.reason], ["failed", "upstream_error"], JSON.stringify(half))
          assert.include(half.reason_message, "called the turn done")
          const used = {
            input_tokens: 1000,
            cached_tokens: 100,
            output_tokens: 20,
            reasoning_tokens: null,
            // 900 fresh tokens, 100 from a cache and 20 of output.
            cost_usd: 0.00205,
            source: "gateway" as const
          }
          assert.deepStrictEqual(half.usage, { ...used, calls: 2, reported_calls: 1, priced_calls: 1 })
          const fine = yield* runTurn(id, script("Try.", work, { say: "Done." }))
          assert.strictEqual(fine.state, "succeeded", JSON.stringify(fine))
          assert.deepInclude(fine.usage, { calls: 2, reported_calls: 2, input_tokens: 2000, cost_usd: 0.0041 })
          assert.strictEqual(yield* health, "ready")
          const { total } = yield* usages.session(principal, id)
          const sums = { turns: 8, reported_turns: 2, priced_turns: 2, input_tokens: 3000, cached_tokens: 300 }
          assert.deepInclude(total, { ...sums, output_tokens: 60, cost_usd: 0.00615 })
          assert.deepStrictEqual((yield* usages.workspace(principal, workspaceId, {})).total, total)
        }),
      {},
      hidingAgents("words")
    ),
  60_000
)

it.scopedLive(
  "an answer that was cut or withheld, a request that cannot be answered and a long pause end the turn as what they are",
  () =>
    withAgent(
      "alpha_gateway",
      ({ eventsUntil, gateway, principal, runTurn, workspaceId }) =>
        Effect.gen(function* () {
          const sessions = yield* Sessions
          for (const [steps, reason, words, calls] of [
            [[work, { say: "The first half of the", lack: "cut" }], "answer_cut", "cut at its longest length", 2],
            [[{ lack: "withheld" }], "answer_withheld", "withheld by a filter", 1],
            [[{ error: 400, code: "context_length_exceeded" }], "context_exceeded", "Start a new session", 2],
            [[{ error: 404, code: "model_not_found" }], "upstream_error", "Choose another model", 2],
            [[{ error: 429, retry_after: 3600 }], "quota_exhausted", "asks for a pause of 60 minutes", 1]
          ] as const) {
            const { id } = yield* sessions.create(principal, workspaceId, {})
            const before = gateway.requests.length
            const turn = yield* runTurn(id, script("Try.", ...steps))
            assert.deepStrictEqual([turn.state, turn.reason], ["failed", reason], JSON.stringify(turn))
            assert.include(turn.reason_message, words)
            assert.strictEqual(gateway.requests.length - before, calls, reason)
            yield* eventsUntil(id, isTurnEnd)
          }
        }),
      {},
      hidingAgents("again")
    ),
  60_000
)

variants(() => {
  it.scopedLive(
    "a result of JSON that was cut fails as a cut answer, and not as a result of another form",
    () =>
      withAgent(
        "alpha_gateway",
        ({ eventsUntil, principal, workspaceId }) =>
          Effect.gen(function* () {
            const sessions = yield* Sessions
            const turns = yield* Turns
            const result_schema = { type: "object", properties: { sum: { type: "integer" } }, required: ["sum"] }
            for (const [last, state, reason] of [
              [{ say: 'The sum:\n\n```json\n{"sum": 1', lack: "cut" }, "failed", "answer_cut"],
              [{ say: '```json\n{"sum": "a word"}\n```' }, "failed", "result_invalid"],
              [{ say: '```json\n{"sum": 3}\n```' }, "succeeded", null]
            ] as const) {
              const { id } = yield* sessions.create(principal, workspaceId, {
                message: { content: script("Sum it up.", last), result_schema }
              })
              yield* eventsUntil(id, isTurnEnd)
              const { items } = yield* turns.list(principal, id, {})
              const turn = items.at(-1)
              assert.deepInclude(turn, { state, reason }, JSON.stringify(turn))
              assert.deepStrictEqual(turn?.result?.value ?? null, state === "succeeded" ? { sum: 3 } : null)
            }
          }),
        {},
        hidingAgents("again")
      ),
    60_000
  )
})

it.scopedLive(
  "a gateway that keeps failing ends the turn after 30 calls, and the agent is stopped",
  () =>
    withAgent(
      "alpha_gateway",
      ({ eventsUntil, gateway, principal, runTurn, workspaceId }) =>
        Effect.gen(function* () {
          const sessions = yield* Sessions
          const { id } = yield* sessions.create(principal, workspaceId, {})
          for (const step of [{ error: 500 }, { garble: "{}" }]) {
            const before = gateway.requests.length
            const turn = yield* runTurn(id, script("Try.", step))
            assert.deepStrictEqual([turn.state, turn.reason], ["failed", "upstream_error"], JSON.stringify(turn))
            assert.include(turn.reason_message, "30 model calls in a row failed, so the agent was stopped.")
            assert.deepInclude(turn.usage, { calls: 30, reported_calls: 0, input_tokens: null })
            assert.strictEqual(gateway.requests.length - before, 30)
            assert.isEmpty(processesOf((yield* sessions.get(principal, id)).executor.lease_id ?? ""))
          }
          yield* eventsUntil(id, isTurnEnd)
          assert.strictEqual((yield* runTurn(id, say("Here again."))).state, "succeeded")
        }),
      {},
      hidingAgents("again")
    ),
  60_000
)

it.scopedLive(
  "a native session in which no model has answered is not gone on with, and one that was cancelled at work is",
  () =>
    withAgent("alpha_gateway", ({ connectionId, eventsUntil, gateway, principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const sessions = yield* Sessions
        const connections = yield* Connections
        const heard = () => JSON.stringify(gateway.requests.at(-1)?.messages)
        const credential = (api_key: string) =>
          connections.replaceCredential(principal, connectionId, { credential: { base_url: gateway.url, api_key } })

        const session = yield* sessions.create(principal, workspaceId, {})
        yield* credential(`not-${canary}`)
        assert.strictEqual((yield* runTurn(session.id, say("marzipan"))).reason, "credential_invalid")
        yield* credential(canary)
        assert.strictEqual((yield* runTurn(session.id, say("I am here."))).state, "succeeded")
        assert.notInclude(heard(), "marzipan")
        yield* runTurn(session.id, say("I know."))
        assert.include(heard(), "I am here.")

        const { id, turn_id: turnId } = yield* sessions.create(principal, workspaceId, {
          message: script("Remember tangerine.", work, { say: "I wait", hang: true })
        })
        yield* eventsUntil(id, ({ type }) => type === "tool.completed")
        yield* (yield* Turns).cancel(principal, turnId ?? "")
        yield* eventsUntil(id, isTurnEnd)
        const cancelled = yield* (yield* Turns).get(principal, turnId ?? "")
        assert.strictEqual(cancelled.state, "cancelled")
        assert.isAtLeast(cancelled.usage.input_tokens ?? 0, 1000)
        yield* runTurn(id, say("I know."))
        assert.include(heard(), "tangerine")
      })
    ),
  60_000
)
