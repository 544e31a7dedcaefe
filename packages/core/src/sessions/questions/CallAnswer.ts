import { Schema } from "effect"
import { field } from "../../domain/Field.js"

const TextContent = Schema.Struct({
  type: field(Schema.Literal("text"), "Tells the kinds of blocks apart."),
  text: field(Schema.String, "What the model reads.")
}).annotations({ identifier: "CallText", description: "Text of the answer to a tool call." })

const ImageContent = Schema.Struct({
  type: field(Schema.Literal("image"), "Tells the kinds of blocks apart."),
  data: field(Schema.String.pipe(Schema.minLength(1)), "The bytes, in base64."),
  mime_type: field(Schema.String.pipe(Schema.pattern(/^image\/[\w.+-]+$/)), "Their type, as in `image/png`.")
}).annotations({ identifier: "CallImage", description: "An image of the answer to a tool call." })

/** The most images of one answer that a model is shown. */
export const maxAnswerImages = 4

const description = "The answer to a tool call as blocks, at most 50, of which 4 may be images."

export const CallBlocks = Schema.Array(Schema.Union(TextContent, ImageContent))
  .pipe(
    Schema.maxItems(50, { description }),
    Schema.filter((blocks) => {
      const images = blocks.flatMap(({ type }, at) => (type === "image" ? [at] : []))
      return images.slice(maxAnswerImages).map((at) => ({ path: [at], message: tooManyImages }))
    })
  )
  .annotations({ identifier: "CallBlocks", description })
export type CallBlocks = typeof CallBlocks.Type

const tooManyImages = `Input should be text: an answer has at most ${maxAnswerImages} images`

/** The longest answer to a tool call, in characters of its JSON. */
export const maxCallAnswer = 1_000_000
