import { Event, type EventType } from "@reins/base/domain/Event"
import { Schema } from "effect"
import * as Picture from "../../../../scripts/picture.mjs"

const decode = Schema.decodeUnknownSync(Schema.parseJson(Event))

/** The events of the run that the picture of the README shows. */
export const recording: ReadonlyArray<Event> = Picture.recorded().map((line) => decode(line))

/** The first recorded event of a type. */
export const recorded = (type: EventType): Event => {
  const found = recording.find((event) => event.type === type)
  if (found === undefined) throw new Error(`The recorded run has no ${type}`)
  return found
}
