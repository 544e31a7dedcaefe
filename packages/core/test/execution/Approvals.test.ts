import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import * as Embedded from "@reins/core/Embedded"
import { Interactions } from "@reins/core/sessions/Interactions"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { askingAgents } from "@reins/testing/harness/SmallAgent"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { Effect } from "effect"
import { installation, say, withAgent } from "./Agent.js"
import { asked, assertObeys, touch } from "./Asking.js"

it.scopedLive(
  "an agent that asks is given the answer: what is allowed it does, and what is denied it leaves",
  () => assertObeys(askingAgents("supported")),
  300_000
)

it.scopedLive(
  "an approval that nobody gives in time is denied, and a turn that goes no further says so",
  () =>
    withAgent(
      "alpha_gateway",
      (given) =>
        Effect.gen(function* () {
          const late = yield* asked(given, touch([{ say: "Never mind." }]))
          const { turn } = yield* late.ended
          assert.deepStrictEqual([turn.state, turn.reason], ["failed", "approval_expired"], JSON.stringify(turn))
          assert.deepInclude(yield* late.settled, { state: "expired", answer: late.interaction.default })
          assert.isFalse(yield* late.isMade)
          const next = yield* given.runTurn(late.session.id, say("Here again."))
          assert.strictEqual(next.state, "succeeded", JSON.stringify(next))
        }),
      { interactionExpiryMs: 3000 },
      askingAgents("supported")
    ),
  300_000
)

it.scopedLive(
  "a turn that is cancelled while it waits ends cancelled, and the session goes on",
  () =>
    withAgent(
      "alpha_gateway",
      (given) =>
        Effect.gen(function* () {
          const waiting = yield* asked(given, touch([{ say: "Never said." }]))
          yield* (yield* Turns).cancel(given.principal, waiting.turnId)
          const { turn } = yield* waiting.ended
          assert.deepStrictEqual([turn.state, turn.reason], ["cancelled", "user_cancelled"], JSON.stringify(turn))
          assert.deepInclude(yield* waiting.settled, { state: "cancelled", answer: null })
          assert.isFalse(yield* waiting.isMade)
          const next = yield* given.runTurn(waiting.session.id, say("Here again."))
          assert.strictEqual(next.state, "succeeded", JSON.stringify(next))
        }),
      {},
      askingAgents("supported")
    ),
  300_000
)

it.scopedLive(
  "a turn that waits when the service stops is interrupted, and its question is cancelled",
  () =>
    Effect.gen(function* () {
      const before = yield* withAgent(
        "alpha_gateway",
        (given) =>
          Effect.map(asked(given, touch([])), ({ turnId, session }) => ({ dataDir: given.dataDir, session, turnId })),
        {},
        askingAgents("supported")
      )
      yield* Effect.gen(function* () {
        const { principal } = yield* Embedded.owner
        const turn = yield* (yield* Turns).get(principal, before.turnId)
        assert.deepStrictEqual([turn.state, turn.reason], ["interrupted", "service_restart"], JSON.stringify(turn))
        const { items } = yield* (yield* Interactions).list(principal, before.session.id, {})
        assert.deepStrictEqual(
          items.map(({ state }) => state),
          ["cancelled"]
        )
      }).pipe(Effect.provide(installation(before.dataDir, {}, askingAgents("supported"))))
    }),
  300_000
)

it.scopedLive(
  "an agent whose manifest does not declare it asks nobody",
  () =>
    withAgent(
      "alpha_gateway",
      ({ principal, runTurn, workspaceId }) =>
        Effect.gen(function* () {
          const session = yield* (yield* Sessions).create(principal, workspaceId, {})
          const turn = yield* runTurn(session.id, touch([{ say: "Made it." }]))
          assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
          const made = join((yield* pathsOf(session.id)).workTree, "made.txt")
          assert.isTrue(existsSync(made))
          assert.deepStrictEqual((yield* (yield* Interactions).list(principal, session.id, {})).items, [])
        }),
      {},
      askingAgents("unsupported")
    ),
  300_000
)
