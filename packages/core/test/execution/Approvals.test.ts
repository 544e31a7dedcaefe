import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import type { Event } from "@reins/core/domain/Event"
import * as Embedded from "@reins/core/Embedded"
import { Manifests, vouched } from "@reins/core/harness/Manifests"
import { Interactions } from "@reins/core/sessions/Interactions"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { WorkingTrees } from "@reins/core/sessions/WorkingTrees"
import { askingAgents } from "@reins/testing/harness/SmallAgent"
import { Effect } from "effect"
import { type Step, script } from "reins-example-scripted-gateway/gateway.mjs"
import alpha from "../../../../manifests/alpha.json" with { type: "json" }
import { installation, isTurnEnd, say, withAgent } from "./Agent.js"

/** The real agent of alpha under a manifest that lets it ask before it edits or runs anything. */
const askingAlpha = Manifests.layerOf([
  vouched({
    ...alpha,
    capabilities: { ...alpha.capabilities, interactive_approval: "supported" },
    runtime: JSON.parse(
      JSON.stringify(alpha.runtime).replaceAll(
        '"permission":{"*":"allow"}',
        '"permission":{"*":"allow","bash":"ask","edit":"ask"}'
      )
    )
  })
])

type Given = Parameters<Parameters<typeof withAgent>[1]>[0]

const touch = (more: ReadonlyArray<Step>) =>
  script("Make the file.", { tool: "bash", cmd: "echo made > made.txt" }, ...more)

/** A session whose agent has asked whether it may make a file. */
const asked = Effect.fnUntraced(function* ({ eventsUntil, principal, workspaceId }: Given, content: string) {
  const session = yield* (yield* Sessions).create(principal, workspaceId, {})
  const { turn_id } = yield* (yield* Messages).send(principal, session.id, { content })
  const events = yield* eventsUntil(session.id, (event) => event.type === "turn.action_required" || isTurnEnd(event))
  assert.strictEqual(events.at(-1)?.type, "turn.action_required", JSON.stringify(events.at(-1)))
  const interactions = yield* Interactions
  const [interaction] = (yield* interactions.list(principal, session.id, { state: "pending" })).items
  if (interaction === undefined) return yield* Effect.dieMessage("nothing is pending")
  const turnId = turn_id ?? ""
  const ended = Effect.gen(function* () {
    const events = yield* eventsUntil(session.id, (event) => event.turn_id === turnId && isTurnEnd(event))
    return { events, turn: yield* (yield* Turns).get(principal, turnId) }
  })
  const file = join((yield* WorkingTrees).paths(session.id).workTree, "made.txt")
  const settled = Effect.map(interactions.list(principal, session.id, {}), ({ items }) => items[0])
  return {
    session,
    interaction,
    turnId,
    ended,
    interactions,
    isMade: Effect.sync(() => existsSync(file)),
    settled,
    events
  }
})

const optionOf = (
  interaction: { readonly options: ReadonlyArray<{ readonly id: string; readonly kind: string }> },
  kind: string
) => interaction.options.find((option) => option.kind === kind)?.id ?? assert.fail(`no ${kind}`)

const states = (events: ReadonlyArray<Event>) =>
  events.filter(({ type }) => type.startsWith("turn.")).map(({ type }) => type)

it.scopedLive(
  "an agent that asks is given the answer: what is allowed it does, and what is denied it leaves",
  () =>
    withAgent(
      "alpha_gateway",
      (given) =>
        Effect.gen(function* () {
          const allowed = yield* asked(given, touch([{ say: "Made it." }]))
          const { interaction } = allowed
          assert.strictEqual(interaction.kind, "approval")
          assert.include(interaction.description, "echo made > made.txt")
          assert.strictEqual(interaction.default, optionOf(interaction, "reject_once"))
          assert.isTrue(allowed.events.some(({ payload }) => payload["tool_id"] === interaction.tool_id))
          const { activity } = yield* (yield* Sessions).get(given.principal, allowed.session.id)
          assert.strictEqual(activity, "requires_action")
          assert.isFalse(yield* allowed.isMade)
          yield* allowed.interactions.answer(given.principal, interaction.id, {
            answer: optionOf(interaction, "allow_once")
          })
          const done = yield* allowed.ended
          assert.strictEqual(done.turn.state, "succeeded", JSON.stringify(done.turn))
          assert.deepStrictEqual(states(done.events), [
            "turn.queued",
            "turn.preparing",
            "turn.started",
            "turn.action_required",
            "turn.action_resolved",
            "turn.succeeded"
          ])
          assert.isTrue(yield* allowed.isMade)

          const denied = yield* asked(given, touch([{ say: "Never mind." }]))
          yield* denied.interactions.answer(given.principal, denied.interaction.id, {
            answer: optionOf(denied.interaction, "reject_once")
          })
          const left = yield* denied.ended
          assert.deepStrictEqual(
            [left.turn.state, left.turn.outcome?.stop_reason],
            ["succeeded", "denied"],
            JSON.stringify(left.turn)
          )
          assert.isFalse(yield* denied.isMade)
        }),
      {},
      askingAlpha
    ),
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
          const made = join((yield* WorkingTrees).paths(session.id).workTree, "made.txt")
          assert.isTrue(existsSync(made))
          assert.deepStrictEqual((yield* (yield* Interactions).list(principal, session.id, {})).items, [])
        }),
      {},
      askingAgents("unsupported")
    ),
  300_000
)

it.scopedLive(
  "the real agent of beta asks where its permissions say so, goes on with the answer and its note, and is steered meanwhile",
  () =>
    withAgent(
      "beta",
      (given) =>
        Effect.gen(function* () {
          const { eventsUntil, gateway, principal, workspaceId } = given
          const messages = yield* Messages
          const interactions = yield* Interactions
          const session = yield* (yield* Sessions).create(principal, workspaceId, {
            harness: { provider_id: "beta", model: "scripted-1" },
            permissions: { default: "ask" }
          })
          const content = script(
            "Make the file.",
            { tool: "write", path: "made.txt", content: "made\n" },
            { tool: "bash", cmd: "sleep 4" },
            { say: "Made it." }
          )
          const { turn_id: turnId = "" } = yield* messages.send(principal, session.id, { content })
          const until = (wanted: (event: Event) => boolean) =>
            eventsUntil(session.id, (event) => wanted(event) || isTurnEnd(event))
          const asking = yield* until(({ type }) => type === "turn.action_required")
          assert.strictEqual(asking.at(-1)?.type, "turn.action_required", JSON.stringify(asking.at(-1)))
          const [interaction] = (yield* interactions.list(principal, session.id, { state: "pending" })).items
          if (interaction === undefined) return assert.fail("nothing is pending")
          assert.strictEqual(interaction.kind, "approval")
          const answer = optionOf(interaction, "allow_once")
          yield* interactions.answer(principal, interaction.id, { answer, note: "Mind the gap." })
          yield* until(({ payload, type }) => type.startsWith("tool.") && payload["kind"] === "execute")
          const steered = yield* messages.send(principal, session.id, { content: "Steer left.", routing: "steer" })
          assert.deepStrictEqual([steered.message.routing, steered.turn_id], ["steer", turnId])
          const events = yield* until(() => false)
          const turn = yield* (yield* Turns).get(principal, turnId)
          assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
          assert.isTrue(existsSync(join((yield* WorkingTrees).paths(session.id).workTree, "made.txt")))
          const heard = gateway.requests.flatMap((request) => request.messages.map(({ text }) => text)).join("\n")
          assert.include(heard, "Steer left.")
          assert.include(heard, "Mind the gap.")
          assert.isTrue(
            events.some(
              ({ payload, type }) => type === "message.delivered" && payload["message_id"] === steered.message.id
            )
          )
        }),
      {},
      Manifests.layer
    ),
  300_000
)
