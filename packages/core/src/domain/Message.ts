import { Schema } from "effect"
import { MessageId, SessionId, TurnId, UploadId } from "./Ids.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

export const MessageState = Schema.Literal("accepted", "queued", "delivered", "cancelled", "discarded")
export type MessageState = typeof MessageState.Type

export const messageStates = StateMachine.make<MessageState>("message", {
  accepted: ["queued", "delivered", "discarded"],
  queued: ["delivered", "cancelled", "discarded"],
  delivered: [],
  cancelled: [],
  discarded: []
})

export const MessageRole = Schema.Literal("user", "assistant", "system")
export type MessageRole = typeof MessageRole.Type

/** `queue` starts a turn of its own, `steer` goes into the running one, `note` is kept for readers and starts nothing. */
export const Routing = Schema.Literal("queue", "steer", "note")
export type Routing = typeof Routing.Type

export const TextBlock = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }).annotations({
  identifier: "TextBlock"
})

/**
 * A file that came with a message, as it was uploaded: the message keeps this also when the file in the workspace changes later or
 * goes. The bytes themselves are in the workspace alone.
 */
export const FileBlock = Schema.Struct({
  type: Schema.Literal("file"),
  upload_id: UploadId,
  path: Schema.String,
  /** In bytes. */
  size: Schema.Int,
  digest: Schema.String
}).annotations({ identifier: "FileBlock" })
export type FileBlock = typeof FileBlock.Type

export const ContentBlock = Schema.Union(TextBlock, FileBlock).annotations({ identifier: "ContentBlock" })
export type ContentBlock = typeof ContentBlock.Type

/** The text of some content, a line for each block; files are left out. */
export const textOf = (content: ReadonlyArray<ContentBlock>): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")

/** Files that may come with one message. */
export const maxAttachments = 20

/** Blocks of one message: each is stored, sent with events and read again by whoever reads them. */
const maxBlocks = 1000

const FileInput = Schema.Struct({ type: Schema.Literal("file"), upload_id: UploadId })

const ContentInput = Schema.Union(TextBlock, FileInput)
type ContentInput = typeof ContentInput.Type

const textLength = (content: string | ReadonlyArray<ContentInput>): number =>
  typeof content === "string"
    ? content.length
    : content.reduce((sum, block) => sum + (block.type === "text" ? block.text.length : 0), 0)

const isSaid = (content: string | ReadonlyArray<ContentInput>): boolean => {
  const holdsFile = typeof content !== "string" && content.some((block) => block.type === "file")
  return (holdsFile || textLength(content) >= 1) && textLength(content) <= 100_000
}

/** The content that a client may send: a text, or at most 1,000 blocks. It has at most 100,000 characters, and at least one unless it has a file. */
export const MessageInput = Schema.Union(Schema.String, Schema.Array(ContentInput).pipe(Schema.maxItems(maxBlocks)))
  .pipe(Schema.filter(isSaid, { message: () => "Input should hold 1 to 100000 characters of text" }))
  .annotations({
    identifier: "MessageInput",
    jsonSchema: {
      anyOf: [
        { type: "string", minLength: 1, maxLength: 100_000 },
        {
          type: "array",
          maxItems: maxBlocks,
          items: {
            anyOf: [
              { $ref: "#/components/schemas/TextBlock" },
              {
                type: "object",
                required: ["type", "upload_id"],
                properties: {
                  type: { type: "string", enum: ["file"] },
                  upload_id: { type: "string", pattern: UploadId.pattern }
                }
              }
            ]
          }
        }
      ]
    }
  })

/** A piece of what an agent produced, as `message.part_added` and `message.part_updated` carry it. */
export const MessagePart = Schema.Struct({
  part_key: Schema.String,
  kind: Schema.Literal("text", "reasoning", "tool", "diff"),
  /** A reader applies `revision + 1` for an append and any higher revision for a replace. */
  revision: Schema.Int,
  mode: Schema.Literal("replace", "append"),
  content: Schema.Unknown,
  /** True when the part will not change again. */
  sealed: Schema.Boolean
}).annotations({ identifier: "MessagePart" })
export type MessagePart = typeof MessagePart.Type

/**
 * Words of a part as the agent says them, sent before they are in the log and never kept. A part that is read from the log holds them
 * too: `offset` says how many characters of the part come before, so a reader leaves out what it has. Some may be missing.
 */
export const MessageDelta = Schema.Struct({
  session_id: SessionId,
  turn_id: TurnId,
  message_id: MessageId,
  part_key: Schema.String,
  kind: Schema.Literal("text", "reasoning"),
  offset: Schema.Int,
  text: Schema.String
}).annotations({ identifier: "MessageDelta" })
export type MessageDelta = typeof MessageDelta.Type

export const Message = Schema.Struct({
  id: MessageId,
  session_id: SessionId,
  ordinal: Schema.Int,
  role: MessageRole,
  kind: Schema.Literal("message", "handoff_summary", "delegation"),
  author: Schema.Struct({ kind: Schema.String, id: Schema.String }),
  routing: Routing,
  content: Schema.Array(ContentBlock),
  turn_id: Schema.NullOr(TurnId),
  state: MessageState,
  created_at: Timestamp
}).annotations({ identifier: "Message" })
export type Message = typeof Message.Type
