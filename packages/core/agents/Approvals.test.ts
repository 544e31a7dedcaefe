import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import type { Event } from "@reins/base/domain/Event"
import { Interactions } from "@reins/core/sessions/Interactions"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Manifests, vouched } from "@reins/machine/harness/Manifests"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import alpha from "../../../manifests/alpha.json" with { type: "json" }
import { isTurnEnd, withAgent } from "../test/execution/Agent.js"
import { assertObeys, optionOf } from "../test/execution/Asking.js"

/** The real agent of alpha under a manifest that lets it ask. */
const askingAlphaWith = (permission: string) =>
  Manifests.layerOf([
    vouched({
      ...alpha,
      capabilities: { ...alpha.capabilities, interactive_approval: "supported" },
      runtime: JSON.parse(
        JSON.stringify(alpha.runtime).replaceAll('"permission":{"*":"allow"}', `"permission":${permission}`)
      )
    })
  ])

const askingAlpha = askingAlphaWith('{"*":"allow","bash":"ask","edit":"ask"}')

const fetched = "http://127.0.0.1:9/page"
const publishes = { tool: "publish_artifact", args: { path: "a.ts", title: "The file" } }
const edits = [
  { tool: "write", path: "a.ts", content: "let a = 1\n" },
  { tool: "edit", path: "a.ts", old: "let a = 1", new: "let a = 2" }
]
const runs = { tool: "bash", cmd: "cat a.ts > copy.txt", ask: true }

/** The steps that each real agent is made to do, with the parts that a person has to see. */
const walks = [
  {
    id: "alpha",
    kind: "alpha_gateway",
    manifests: askingAlphaWith('{"*":"ask"}'),
    steps: [...edits, runs, { tool: "webfetch", args: { url: fetched, format: "text" } }, publishes],
    shows: [
      ["a.ts", "let a = 1"],
      ["a.ts", "let a = 1", "let a = 2"],
      ["cat a.ts > copy.txt"],
      [fetched],
      ["publish_artifact", "a.ts", "The file"]
    ]
  },
  {
    // Codex offers its model no tool that fetches a page.
    id: "beta",
    kind: "beta",
    manifests: Manifests.layer,
    steps: [...edits, runs, publishes],
    shows: [
      ["a.ts", "let a = 1"],
      ["a.ts", "let a = 1", "let a = 2"],
      ["cat a.ts > copy.txt"],
      ["publish_artifact", "a.ts", "The file"]
    ]
  }
] as const

for (const { id, kind, manifests, shows, steps } of walks)
  it.scopedLive(
    `the real agent of ${id} asks for leave with all that a person has to see`,
    () =>
      withAgent(
        kind,
        ({ eventsUntil, principal, workspaceId }) =>
          Effect.gen(function* () {
            const interactions = yield* Interactions
            const session = yield* (yield* Sessions).create(principal, workspaceId, {
              harness: { provider_id: id, model: "scripted-1" },
              permissions: { default: "ask" }
            })
            const content = script("Work.", ...steps, { say: "Worked." })
            yield* (yield* Messages).send(principal, session.id, { content })
            const texts: Array<string> = []
            const incomplete: Array<string> = []
            const answered = new Set<string>()
            for (;;) {
              const events = yield* eventsUntil(
                session.id,
                (event) =>
                  isTurnEnd(event) || (event.type === "turn.action_required" && !answered.has(interactionIn(event)))
              )
              if (events.some(isTurnEnd)) break
              const asked = yield* interactions.list(principal, session.id, { state: "pending" })
              for (const interaction of asked.items) {
                answered.add(interaction.id)
                texts.push(`${interaction.title}\n${interaction.description}`)
                if (interaction.subject?.complete !== true) incomplete.push(JSON.stringify(interaction.subject))
                assert.notInclude(JSON.stringify(interaction.subject?.edits ?? []), session.id)
                yield* interactions.answer(principal, interaction.id, { answer: optionOf(interaction, "allow_once") })
              }
            }
            for (const [at, parts] of shows.entries())
              assert.isTrue(
                texts.some((text) => parts.every((part) => text.includes(part))),
                `step ${at} is shown by none of:\n${texts.join("\n\n")}`
              )
            assert.isFalse(texts.some((text) => text.includes("no more about it")))
            assert.deepStrictEqual(incomplete, [])
          }),
        {},
        manifests
      ),
    300_000
  )

const interactionIn = ({ payload }: Event): string => {
  const { interaction } = payload
  return typeof interaction === "object" && interaction !== null && "id" in interaction ? String(interaction.id) : ""
}

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
            // Codex asks for this one too: in a sandbox of ours its own starts no command.
            { tool: "bash", cmd: "until [ -e steered.txt ]; do sleep 0.1; done", ask: true },
            { say: "Made it." }
          )
          const { turn_id: turnId = "" } = yield* messages.send(principal, session.id, { content })
          const until = (wanted: (event: Event) => boolean) =>
            eventsUntil(session.id, (event) => wanted(event) || isTurnEnd(event))
          const answered = new Set<string>()
          const allowNext = Effect.fnUntraced(function* (note: string) {
            const events = yield* until(
              (event) => event.type === "turn.action_required" && !answered.has(interactionIn(event))
            )
            assert.strictEqual(events.at(-1)?.type, "turn.action_required", JSON.stringify(events.at(-1)))
            const [interaction] = (yield* interactions.list(principal, session.id, { state: "pending" })).items
            if (interaction === undefined) return assert.fail("nothing is pending")
            assert.strictEqual(interaction.kind, "approval")
            answered.add(interaction.id)
            yield* interactions.answer(principal, interaction.id, { answer: optionOf(interaction, "allow_once"), note })
          })
          yield* allowNext("Mind the gap.")
          yield* allowNext("Wait there.")
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
          assert.include(heard, "Wait there.")
          assert.isTrue(events.some(isHeard))
        }),
      {},
      Manifests.layer
    ),
  300_000
)
