import { Schema } from "effect"
import { MessageId, SessionId, TurnId, UploadId } from "./Ids.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

/** The way of a message to the agent. A note is `accepted` and goes to no agent, unless it is the summary that an agent begins with. */
export const MessageState = Schema.Literal("accepted", "queued", "delivered", "cancelled", "discarded")
export type MessageState = typeof MessageState.Type

/**
 * The moves of a message, which `MessageStore` makes. A message that was cancelled with its turn is delivered after all when that
 * turn is retried. No message becomes `discarded` today.
 */
export const messageStates = /* @__PURE__ */ StateMachine.make<MessageState>("message", {
  accepted: ["delivered"],
  queued: ["delivered", "cancelled"],
  delivered: [],
  cancelled: ["delivered"],
  discarded: []
})

/** The speaker: `user` stands for people and programs, `assistant` for the agent, `system` for the service. */
export const MessageRole = Schema.Literal("user", "assistant", "system")
export type MessageRole = typeof MessageRole.Type

/** `queue` starts a turn of its own, `steer` goes into the running turn, `note` is kept for readers and starts nothing. */
export const Routing = Schema.Literal("queue", "steer", "note")
export type Routing = typeof Routing.Type

/** Text in a message. */
export const TextBlock = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }).annotations({
  identifier: "TextBlock"
})

/**
 * A file that came with a message, as it was uploaded. The message keeps this description when the file in the workspace changes or is
 * deleted later. The bytes are in the workspace only.
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

/** A part of the content of a message. */
export const ContentBlock = Schema.Union(TextBlock, FileBlock).annotations({ identifier: "ContentBlock" })
export type ContentBlock = typeof ContentBlock.Type

/** The text of a content, a line for each block, without its files. */
export const textOf = (content: ReadonlyArray<ContentBlock>): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")

/** The most files that may come with one message. */
export const maxAttachments = 20

/** The most blocks of one message: each is stored, sent with events and read again by every reader. */
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

/**
 * The content that a client may send: text, or a list of at most 1,000 blocks. It has 100,000 characters at most, and at least one unless
 * there is a file.
 */
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

/** A piece of the agent's output, as `message.part_added` and `message.part_updated` carry it. */
export const MessagePart = Schema.Struct({
  part_key: Schema.String,
  kind: Schema.Literal("text", "reasoning", "tool", "diff"),
  /** A reader applies an append only when its revision follows the known one, and a replace when its revision is higher. */
  revision: Schema.Int,
  mode: Schema.Literal("replace", "append"),
  content: Schema.Unknown,
  /** True when the part will not change again. */
  sealed: Schema.Boolean
}).annotations({ identifier: "MessagePart" })
export type MessagePart = typeof MessagePart.Type

/**
 * Words of a part as the agent says them, sent before they are in the log and never kept. The log holds them too: `offset` is the number of
 * characters of the part that come before, so a reader can leave out those that it has. Some deltas may be missing.
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

/** A message of a session. `ordinal` counts them from 1. */
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
