import { type Effect, Schema } from "effect"

/** A tool as an agent is told of it. */
export const OfferedTool = Schema.Struct({
  name: Schema.String,
  description: Schema.String,
  /** A JSON Schema of an object. */
  input_schema: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  /** True for a tool that changes nothing. */
  is_read_only: Schema.Boolean
})
export type OfferedTool = typeof OfferedTool.Type

/** The tools that an agent is started with, by server. An agent keeps the list that it got at its start. */
export const ToolOffer = Schema.Struct({
  servers: Schema.Array(Schema.Struct({ name: Schema.String, tools: Schema.Array(OfferedTool) })),
  /** True for an agent that hides tools from its model unless they say that they are always to be there. */
  is_always_loaded: Schema.Boolean
})
export type ToolOffer = typeof ToolOffer.Type

/** A call of a tool by an agent. */
export const OfferedCall = Schema.Struct({
  server: Schema.String,
  tool: Schema.String,
  /** Tells the call from others of the turn. A request that is sent again has the same id. */
  call_id: Schema.String,
  input: Schema.Unknown,
  /** True for a caller that hears of progress, and so waits for as long as it hears something. */
  hears_progress: Schema.Boolean
})
export type OfferedCall = typeof OfferedCall.Type

/** An image of an answer, in base64. */
export const ToolImage = Schema.Struct({ data: Schema.String, mime_type: Schema.String })
export type ToolImage = typeof ToolImage.Type

/** The answer that the model gets. */
export const ToolAnswer = Schema.Struct({
  text: Schema.String,
  is_error: Schema.Boolean,
  images: Schema.optionalWith(Schema.Array(ToolImage), { exact: true })
})
export type ToolAnswer = typeof ToolAnswer.Type

/** Answers the calls of a turn. It is interrupted when the agent withdraws the call. */
export type CallTool = (call: OfferedCall) => Effect.Effect<ToolAnswer>
