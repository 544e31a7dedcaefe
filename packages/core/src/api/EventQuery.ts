import { Schema } from "effect"
import { field } from "../domain/Field.js"
import { commaList, integer, number } from "./Query.js"

/** The parameters with which every log of events is read, of a session and of a workspace. */
export const eventParameters = {
  limit: field(
    Schema.optionalWith(integer({ min: 1, max: 1000 }), { default: () => 500 }),
    "The most events of a page; of a stream, how many events are read at a time."
  ),
  types: field(
    Schema.optionalWith(commaList, { exact: true }),
    "Only these types of events: a comma list of names, or of prefixes as in `turn.*`. Given more than once, the lists are one."
  ),
  max_seconds: field(
    Schema.optionalWith(number(), { default: () => 600 }),
    "How long a stream stays open, in seconds; from 0.5 to 600. A page is answered at once."
  )
}
