import { Clock, Context, DefaultServices, Effect, type Fiber, Schema } from "effect"

/** An instant in RFC 3339, UTC, with milliseconds. The text sorts like the time. */
export const Timestamp = Schema.String.pipe(
  Schema.pattern(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
  Schema.brand("Timestamp")
).annotations({ jsonSchema: { type: "string", format: "date-time" } })
export type Timestamp = typeof Timestamp.Type

/** The instant of milliseconds since 1970. It must be in a year of four digits. */
export const fromMillis = (millis: number): Timestamp => {
  if (millis !== latest.millis) {
    const text = new Date(millis).toISOString()
    // A text of another length has a year of more than four digits, which is refused.
    latest = { millis, timestamp: Timestamp.make(text, { disableValidation: text.length === 24 }) }
  }
  return latest.timestamp
}

/** The latest result, because a command asks for the time many times within one millisecond. */
let latest = { millis: 0, timestamp: Timestamp.make("1970-01-01T00:00:00.000Z") }

const written = /^(\d{4}-\d{2}-(\d{2}))[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/

/** The milliseconds of an instant in RFC 3339. It gives NaN for any other text, and for a day that its month does not have. */
const parse = (text: string): number => {
  const [, date, day] = written.exec(text) ?? []
  if (date === undefined) return Number.NaN
  const upper = text.toUpperCase().replace(" ", "T")
  // JavaScript takes 30 February for 2 March.
  const local = new Date(`${date}T00:00:00Z`)
  return Number.isNaN(local.getTime()) || local.getUTCDate() !== Number(day) ? Number.NaN : Date.parse(upper)
}

/** True where the year has four digits at UTC too. */
const isInstant = (text: string): boolean => {
  const millis = parse(text)
  return !Number.isNaN(millis) && new Date(millis).toISOString().length === 24
}

/**
 * An instant in RFC 3339 as callers write it: at any offset, with or without a fraction of a second. It is read as a `Timestamp`, without what is less
 * than a millisecond.
 */
export const GivenTimestamp = Schema.transform(
  Schema.String.pipe(Schema.filter(isInstant, { jsonSchema: { type: "string", format: "date-time" } })),
  Timestamp,
  { strict: true, decode: (text) => fromMillis(parse(text)), encode: (timestamp) => timestamp }
)

/** The milliseconds since 1970. */
export const toMillis = (timestamp: Timestamp): number => Date.parse(timestamp)

/** The instant `millis` after now, or before now when `millis` is negative. */
export const fromNow = (millis: number): Effect.Effect<Timestamp> =>
  Effect.withFiberRuntime((fiber) => Effect.succeed(fromMillis(unsafeMillis(fiber) + millis)))

/** The present instant. */
export const now: Effect.Effect<Timestamp> = fromNow(0)

/** The milliseconds since 1970 by the clock of a fiber. `Clock.currentTimeMillis` takes three times as many steps, and a command asks often. */
export const unsafeMillis = (fiber: Fiber.RuntimeFiber<unknown, unknown>): number =>
  Context.get(fiber.getFiberRef(DefaultServices.currentServices), Clock.Clock).unsafeCurrentTimeMillis()
