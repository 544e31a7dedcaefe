import { Event } from "@reins/base/domain/Event"
import { field } from "@reins/base/domain/Field"
import { MessageDelta } from "@reins/base/domain/MessageDelta"
import { allEvents, eventTypes } from "@reins/core/Events"
import { Schema } from "effect"
import { fieldsOf, type Json, refersTo } from "./Json.js"

/** The last frame of an event stream. */
const StreamEnd = Schema.Struct({
  reason: field(
    Schema.Literal("max_seconds", "shutdown", "slow_consumer", "refused"),
    "Why the stream ends. After `refused` the caller may no longer read: the answer to the next request says why."
  ),
  next_after: field(Schema.Int, "Where to read on: pass it as `after`, or as `Last-Event-ID`.")
}).annotations({
  identifier: "StreamEnd",
  description: "The data of `event: stream.end`, which is the last frame of a stream."
})

/** The schemas that only events refer to. */
export const eventSchemas: ReadonlyArray<Schema.Schema.AnyNoContext> = [
  ...new Set<Schema.Schema.AnyNoContext>(Object.values(allEvents).map(({ payload }) => payload)),
  Event,
  MessageDelta,
  StreamEnd
]

const envelope = "EventEnvelope"

/** `turn.action_required` is the component `TurnActionRequiredEvent`. */
const componentOf = (type: string): string =>
  `${type.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`

const payloadOf = (type: (typeof eventTypes)[number]): string =>
  String(allEvents[type].payload.ast.annotations[identifierId] ?? "")

const identifierId = Symbol.for("effect/annotation/Identifier")

/** The components with an event as one of all types, each with the shape of its payload. */
export const withEventUnion = (components: Json): Json => {
  const { description, ...event } = fieldsOf(components["Event"])
  const { payload: _, type: __, ...common } = fieldsOf(event["properties"])
  const required = Array.isArray(event["required"]) ? event["required"] : []
  return {
    ...components,
    [envelope]: {
      ...event,
      description: "What every event has, whatever its type.",
      required: required.filter((name) => name !== "payload" && name !== "type"),
      properties: common
    },
    ...Object.fromEntries(
      eventTypes.map((type) => [
        componentOf(type),
        {
          description: `The event \`${type}\`.`,
          allOf: [refersTo(envelope)],
          type: "object",
          required: ["type", "payload"],
          properties: {
            type: { type: "string", enum: [type], description: "What happened." },
            payload: { ...refersTo(payloadOf(type)), description: "The facts." }
          }
        }
      ])
    ),
    Event: {
      description: `${description} \`type\` decides the payload. New releases may add types; pass over those that you do not know.`,
      oneOf: eventTypes.map((type) => refersTo(componentOf(type))),
      discriminator: {
        propertyName: "type",
        mapping: Object.fromEntries(eventTypes.map((type) => [type, `#/components/schemas/${componentOf(type)}`]))
      }
    }
  }
}
