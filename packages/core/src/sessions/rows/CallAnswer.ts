import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"

const TextContent = Schema.Struct({
  type: field(Schema.Literal("text"), "Tells the kinds of blocks apart."),
  text: field(Schema.String, "What the model reads.")
}).annotations({ identifier: "CallText", description: "Text of the answer to a tool call." })

const ImageContent = Schema.Struct({
  type: field(Schema.Literal("image"), "Tells the kinds of blocks apart."),
  data: field(Schema.String.pipe(Schema.minLength(1)), "The bytes, in base64."),
  mime_type: field(Schema.String.pipe(Schema.pattern(/^image\/[\w.+-]+$/)), "Their type, as in `image/png`.")
}).annotations({ identifier: "CallImage", description: "An image of the answer to a tool call." })

const description =
  "The answer to a tool call as blocks, at most 50. `tool_answer_images` of the limits bounds the images among them."

export const CallBlocks = Schema.Array(Schema.Union(TextContent, ImageContent))
  .pipe(Schema.maxItems(50, { description }))
  .annotations({ identifier: "CallBlocks", description })
export type CallBlocks = typeof CallBlocks.Type

/** The longest answer to a tool call, in characters of its JSON. */
export const maxCallAnswer = 1_000_000
