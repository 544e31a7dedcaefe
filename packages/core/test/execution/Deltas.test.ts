import { assert, it } from "@effect/vitest"
import { MessageDelta } from "@reins/base/domain/MessageDelta"
import { EventFeed } from "@reins/core/events/EventFeed"
import { Messages } from "@reins/core/sessions/Messages"
import { textOf } from "@reins/core/sessions/rows/Message"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Effect, Schema } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { withAgent } from "./Agent.js"

const decode = Schema.decodeUnknownSync(Schema.parseJson(MessageDelta))

it.scopedLive(
  "deltas tell what an agent says before the log does, and together they are what the log then holds",
  () =>
    withAgent("alpha_gateway", ({ principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const feed = yield* EventFeed
        const session = yield* (yield* Sessions).create(principal, workspaceId, {})
        const order: Array<string> = []
        const deltas: Array<MessageDelta> = []
        const reader = yield* feed.subscribe(
          principal,
          session.id,
          {
            after: session.event_watermark,
            batch: 100,
            deltas: (frame) => {
              order.push("delta")
              deltas.push(decode(/^data: (.*)$/m.exec(frame.toString("utf8"))?.[1]))
            }
          },
          (frames) => {
            order.push(...frames.map(({ event }) => event.type))
            return true
          }
        )
        reader.resume()
        const said = "One word after the other, as slowly as a thoughtful agent would say them."
        const turn = yield* runTurn(session.id, script("Say it.", { say: said, slow_ms: 60 }))
        reader.close()
        assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))

        assert.isAbove(deltas.length, 1)
        assert.isBelow(order.indexOf("delta"), order.indexOf("message.part_added"))
        let text = ""
        for (const delta of deltas) {
          assert.strictEqual(delta.offset, text.length)
          assert.deepStrictEqual(
            [delta.turn_id, delta.message_id, delta.kind],
            [turn.id, turn.outcome?.message_id, "text"]
          )
          text += delta.text
        }
        const message = (yield* (yield* Messages).list(principal, session.id, {})).items.at(-1)
        assert.strictEqual(text, textOf(message?.content ?? []))
        assert.strictEqual(text.trim(), said)
      })
    ),
  300_000
)
