import { Clock, Context, DefaultServices, Effect, Schema } from "effect"

/** An instant in RFC 3339, UTC, with milliseconds. The text sorts like the time. */
export const Timestamp = Schema.String.pipe(
  Schema.pattern(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
  Schema.brand("Timestamp")
).annotations({ jsonSchema: { type: "string", format: "date-time" } })
export type Timestamp = typeof Timestamp.Type

export const fromMillis = (millis: number): Timestamp => {
  if (millis !== latest.millis) {
    const text = new Date(millis).toISOString()
    // Only a year that has more than four digits makes it longer, and that is refused.
    latest = { millis, timestamp: Timestamp.make(text, { disableValidation: text.length === 24 }) }
  }
  return latest.timestamp
}

/** A command asks for the time again and again within one millisecond. */
let latest = { millis: 0, timestamp: Timestamp.make("1970-01-01T00:00:00.000Z") }

export const toMillis = (timestamp: Timestamp): number => Date.parse(timestamp)

/** The instant `millis` after now; before now when negative. */
export const fromNow = (millis: number): Effect.Effect<Timestamp> =>
  // `Clock.currentTimeMillis` takes three times as many steps, and a command needs the time at every turn.
  Effect.withFiberRuntime((fiber) => {
    const clock = Context.get(fiber.getFiberRef(DefaultServices.currentServices), Clock.Clock)
    return Effect.succeed(fromMillis(clock.unsafeCurrentTimeMillis() + millis))
  })

export const now: Effect.Effect<Timestamp> = fromNow(0)
