import { Schema } from "effect"

const step = Schema.optionalWith(Schema.Int, { exact: true })

/** The time that each step of stopping is given before the next one, in milliseconds. A step that is not listed is left out. */
export const StopPolicy = Schema.Struct({
  cancel_ms: step,
  close_ms: step,
  stdin_eof_ms: Schema.Int,
  sigterm_ms: Schema.Int
}).annotations({ identifier: "StopPolicy" })
export type StopPolicy = typeof StopPolicy.Type
