import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import type { Event } from "@reins/core/domain/Event"
import { Manifests, vouched } from "@reins/core/harness/Manifests"
import { Interactions } from "@reins/core/sessions/Interactions"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import alpha from "../../../manifests/alpha.json" with { type: "json" }
import { isTurnEnd, withAgent } from "../test/execution/Agent.js"
import { assertObeys, optionOf } from "../test/execution/Asking.js"

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

it.scopedLive(
  "the real agent of alpha is given the answer: what is allowed it does, and what is denied it leaves",
  () => assertObeys(askingAlpha),
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
            { tool: "bash", cmd: "until [ -e steered.txt ]; do sleep 0.1; done" },
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
          const isHeard = ({ payload, type }: Event) =>
            type === "message.delivered" && payload["message_id"] === steered.message.id
          yield* until(isHeard)
          const { workTree } = yield* pathsOf(session.id)
          writeFileSync(join(workTree, "steered.txt"), "")
          const events = yield* until(() => false)
          const turn = yield* (yield* Turns).get(principal, turnId)
          assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
          assert.isTrue(existsSync(join(workTree, "made.txt")))
          const heard = gateway.requests.flatMap((request) => request.messages.map(({ text }) => text)).join("\n")
          assert.include(heard, "Steer left.")
          assert.include(heard, "Mind the gap.")
          assert.isTrue(events.some(isHeard))
        }),
      {},
      Manifests.layer
    ),
  300_000
)
