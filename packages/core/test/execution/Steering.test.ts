import { assert, it } from "@effect/vitest"
import { defaultLimits } from "@reins/base/base/CoreLimits"
import type { Event } from "@reins/base/domain/Event"
import { Connections } from "@reins/core/connections/Connections"
import { EventFeed } from "@reins/core/events/EventFeed"
import { Interactions } from "@reins/core/sessions/Interactions"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { talkingAgents } from "@reins/testing/harness/SmallAgent"
import { within } from "@reins/testing/MachineTime"
import { aMoment } from "@reins/testing/process/Waiting"
import { askedCalls, steers } from "@reins/testing/Volume"
import { Effect, Schema, Stream } from "effect"
import { type Step, script } from "reins-example-scripted-gateway/gateway.mjs"
import { isTurnEnd, withAgent } from "./Agent.js"

const ActionPayload = Schema.Struct({ interaction: Schema.Struct({ id: Schema.String }) })

type Given = Parameters<Parameters<typeof withAgent>[1]>[0]

const beta = { provider_id: "beta", model: "scripted-1" }
const work = (count: number, cmd: string): ReadonlyArray<Step> =>
  Array.from({ length: count }, () => ({ tool: "bash", cmd }))

/** A session whose turn has begun. */
const working = Effect.fnUntraced(function* (
  given: Given,
  content: string,
  isUnderWay = (event: Event) => event.type === "tool.started"
) {
  const { eventsUntil, principal, workspaceId } = given
  const messages = yield* Messages
  const session = yield* (yield* Sessions).create(principal, workspaceId, { harness: beta })
  const { turn_id: turnId = "" } = yield* messages.send(principal, session.id, { content })
  yield* eventsUntil(session.id, (event) => isUnderWay(event) || isTurnEnd(event))
  const say = (content: string, routing: "steer" | "interrupt" | "queue") =>
    messages.send(principal, session.id, { content, routing })
  const turns = yield* Turns
  const idle = eventsUntil(session.id, (event) => isTurnEnd(event)).pipe(
    Effect.zipRight(aMoment),
    Effect.zipRight(Effect.map(turns.list(principal, session.id, { limit: 200 }), ({ items }) => items)),
    Effect.repeat({ until: (all) => all.every(({ finished_at }) => finished_at !== null) })
  )
  return { session, turnId, say, idle, turns }
})

/** The text of the conversation that the model was given last, without what the model said. */
const heard = ({ gateway }: Given): ReadonlyArray<string> =>
  (gateway.requests.at(-1)?.messages ?? []).filter(({ role }) => role === "user").map(({ text }) => text)

it.scopedLive(
  `each of ${steers} steers is in the next request to the model or has a turn of its own, and none is both or lost`,
  () =>
    withAgent(
      "beta",
      (given) =>
        Effect.gen(function* () {
          const { idle, say, session, turnId } = yield* working(
            given,
            script("Work.", ...work(Math.ceil(steers * 0.6), "sleep 0.02"), { say: "Worked." })
          )
          const said = Array.from({ length: steers }, (_, at) => `steer-${at};`)
          const answers = yield* Effect.forEach(said, (text) => Effect.delay(say(text, "steer"), "8 millis"), {
            concurrency: 2
          })
          yield* idle
          const { items } = yield* (yield* Messages).list(given.principal, session.id, { limit: 300 })
          const sent = items.filter(({ role }) => role === "user").slice(1)
          assert.deepStrictEqual(
            sent.map(({ state }) => state),
            sent.map(() => "delivered")
          )
          const inTurn = sent.filter(({ turn_id }) => turn_id === turnId)
          assert.isAbove(inTurn.length, 0)
          const conversation = heard(given).join("\n")
          for (const text of said) assert.strictEqual(conversation.split(text).length, 2, text)
          // Words that found no turn to go into are answered as queued at once.
          for (const { message } of answers) {
            const found = sent.find(({ id }) => id === message.id)
            if (message.routing === "queue") assert.notStrictEqual(found?.turn_id, turnId)
          }
        }),
      { limits: { ...defaultLimits, queuedTurns: 200 } },
      talkingAgents
    ),
  120_000
)

it.scopedLive(
  "an interruption stops what the agent does, and the same turn goes on with it",
  () =>
    withAgent(
      "beta",
      (given) =>
        Effect.gen(function* () {
          const { idle, say, turnId } = yield* working(given, script("Wait.", ...work(1, "sleep 1000")))
          const { message } = yield* say(script("Rather this.", { say: "This, then." }), "interrupt")
          assert.deepStrictEqual([message.routing, message.turn_id], ["interrupt", turnId])
          const [turn, ...more] = yield* idle
          assert.deepStrictEqual([turn?.state, more.length], ["succeeded", 0], JSON.stringify(turn))
          const { items } = yield* (yield* Messages).list(given.principal, turn?.session_id ?? "", {})
          const answer = items.at(-1)
          assert.deepStrictEqual(answer?.content, [{ type: "text", text: "This, then." }])
          assert.deepStrictEqual(
            answer?.parts.map(({ kind }) => kind),
            ["tool", "text"]
          )
        }),
      {},
      talkingAgents
    ),
  60_000
)

it.scopedLive("a provider that cannot be steered refuses it before anything is written, and names one that can", () =>
  withAgent(
    "beta",
    ({ principal, workspaceId, ...given }) =>
      Effect.gen(function* () {
        yield* (yield* Connections).create(principal, workspaceId, {
          kind: "alpha_gateway",
          label: "alpha",
          credential: { base_url: given.gateway.url, api_key: "key" }
        })
        const sessions = yield* Sessions
        const session = yield* sessions.create(principal, workspaceId, { harness: { ...beta, provider_id: "alpha" } })
        const { event_watermark } = yield* sessions.get(principal, session.id)
        for (const routing of ["steer", "interrupt"] as const) {
          const refused = yield* Effect.flip((yield* Messages).send(principal, session.id, { content: "x", routing }))
          assert.deepInclude(refused, { code: "unsupported_capability" })
          assert.include(refused.message, "beta")
        }
        const permissions = { default: "ask" } as const
        for (const refused of [
          yield* Effect.flip(sessions.update(principal, session.id, { permissions })),
          yield* Effect.flip(
            sessions.create(principal, workspaceId, { harness: { ...beta, provider_id: "alpha" }, permissions })
          )
        ]) {
          assert.deepInclude(refused, { code: "unsupported_capability" })
          assert.include(refused.message, "beta")
        }
        assert.strictEqual((yield* sessions.get(principal, session.id)).event_watermark, event_watermark)
        assert.strictEqual((yield* sessions.list(principal, workspaceId, {})).items.length, 1)
      }),
    {},
    talkingAgents
  )
)

it.scopedLive(
  `a policy allows, asks and denies by the kind of tool, and a note goes to the agent in the same turn, ${askedCalls} times over`,
  () =>
    withAgent(
      "beta",
      (given) =>
        Effect.gen(function* () {
          const { principal, workspaceId } = given
          const interactions = yield* Interactions
          const messages = yield* Messages
          const session = yield* (yield* Sessions).create(principal, workspaceId, {
            harness: beta,
            permissions: { default: "deny", tools: { edit: "allow", execute: "ask" } }
          })
          const content = script(
            "Work.",
            { tool: "write", path: "free.txt", content: "free" },
            ...work(askedCalls, "true"),
            {
              say: "Worked."
            }
          )
          const { turn_id = "" } = yield* messages.send(principal, session.id, { content })
          let answered = 0
          yield* (yield* EventFeed).stream(principal, session.id, { after: 0 }).pipe(
            Stream.takeUntil(isTurnEnd),
            Stream.filter(({ type }) => type === "turn.action_required"),
            Stream.runForEach(({ payload }) => {
              answered += 1
              const { id } = Schema.decodeUnknownSync(ActionPayload)(payload).interaction
              const note = answered === askedCalls ? { note: "Mind the gap." } : {}
              return interactions.answer(principal, id, { answer: "once", ...note })
            }),
            within(90)
          )
          assert.strictEqual(answered, askedCalls)
          const turn = yield* (yield* Turns).get(principal, turn_id)
          assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
          assert.include(heard(given).join("\n"), "Mind the gap.")
        }),
      {},
      talkingAgents
    ),
  120_000
)
