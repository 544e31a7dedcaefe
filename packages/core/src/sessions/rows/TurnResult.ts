import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"

export const ResultSchema = Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
  identifier: "ResultSchema",
  description: "A JSON Schema of the draft 2020-12."
})
export type ResultSchema = typeof ResultSchema.Type

export const TurnResult = Schema.Struct({
  value: field(Schema.Unknown, "The result, for programs. It satisfies the `result_schema` that was asked for."),
  summary: field(Schema.String, "What came out, in words."),
  tries: field(Schema.Int, "The number of results that the agent gave until one was accepted.")
}).annotations({ identifier: "TurnResult", description: "The result of a turn that was asked for one of a shape." })
export type TurnResult = typeof TurnResult.Type
