import { Option, Schema } from "effect"
import { field } from "./Field.js"

/**
 * A field that may not be given, for what clients could expect here and would otherwise be ignored in silence. `why` says what is so and what
 * to do instead; it is the message of the 422. Null counts as absent.
 */
export const refused = (why: string) =>
  field(
    Schema.optionalToOptional(
      Schema.Unknown.pipe(
        Schema.filter((given): given is null => given === null, { message: () => why, jsonSchema: { type: "null" } })
      ),
      Schema.Never,
      { decode: () => Option.none(), encode: () => Option.none() }
    ),
    `Has to be absent or null: ${why}.`
  )
