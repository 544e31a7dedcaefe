import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import type { Event } from "@reins/base/domain/Event"
import { Interactions } from "@reins/core/sessions/Interactions"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import type { Manifests } from "@reins/machine/harness/Manifests"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { Effect } from "effect"
import { type Step, script } from "reins-example-scripted-gateway/gateway.mjs"
import { isTurnEnd, withAgent } from "./Agent.js"

type Given = Parameters<Parameters<typeof withAgent>[1]>[0]

/** A script that makes a file, and then does more. */
export const touch = (more: ReadonlyArray<Step>) =>
  script("Make the file.", { tool: "bash", cmd: "echo made > made.txt" }, ...more)

/** A session whose agent has asked whether it may make a file. */
export const asked = Effect.fnUntraced(function* ({ eventsUntil, principal, workspaceId }: Given, content: string) {
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
  const file = join((yield* pathsOf(session.id)).workTree, "made.txt")
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

/** The id of the option of a kind, as in `allow_once`. */
export const optionOf = (
  interaction: { readonly options: ReadonlyArray<{ readonly id: string; readonly kind: string }> },
  kind: string
) => interaction.options.find((option) => option.kind === kind)?.id ?? assert.fail(`no ${kind}`)

const turnEvents = (events: ReadonlyArray<Event>) =>
  events.filter(({ type }) => type.startsWith("turn.")).map(({ type }) => type)

/** An agent that asks is given the answer: it does what is allowed, and leaves what is denied. */
export const assertObeys = (manifests: typeof Manifests.layer) =>
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
        assert.deepStrictEqual(turnEvents(done.events), [
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
    manifests
  )
