import { field } from "@reins/base/domain/Field"
import { MessageId, SessionId, TurnId, UploadId } from "@reins/base/domain/Ids"
import * as StateMachine from "@reins/base/domain/StateMachine"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { UploadPlace } from "@reins/base/domain/UploadPlace"
import { AgentPlan, Media } from "@reins/machine/harness/AgentReport"
import { Schema } from "effect"
import { ToolPayload } from "./ToolCall.js"

export const MessageState = Schema.Literal("accepted", "queued", "delivered", "cancelled", "discarded").annotations({
  description:
    "The way of a message to the agent. A note is `accepted` and goes to no agent, unless it is the summary that an agent begins with."
})
export type MessageState = typeof MessageState.Type

/**
 * The moves of a message, which `MessageStore` makes. A turn that ends before the agent has its message cancels that; a retry of the turn queues it
 * anew. No message becomes `discarded` today.
 */
export const messageStates = /* @__PURE__ */ StateMachine.make<MessageState>("message", {
  accepted: ["delivered"],
  queued: ["delivered", "cancelled"],
  delivered: [],
  cancelled: ["queued", "delivered"],
  discarded: []
})

export const MessageRole = Schema.Literal("user", "assistant", "system").annotations({
  description: "`user` stands for people and programs, `assistant` for the agent, `system` for the service."
})
export type MessageRole = typeof MessageRole.Type

export const Routing = Schema.Literal("queue", "steer", "interrupt", "note").annotations({
  description:
    "`queue` starts a turn of its own, `steer` goes into what the agent does in the running turn, `interrupt` has the agent stop that and go on with the message in the same turn, `note` is kept for readers and starts nothing. A message that finds no turn to go into is answered with `queue`; one whose agent had ended before it could take it keeps its routing and gets a turn of its own."
})
export type Routing = typeof Routing.Type

export const TextBlock = Schema.Struct({
  type: field(Schema.Literal("text"), "Tells the kinds of blocks apart."),
  text: field(Schema.String, "What is said.")
}).annotations({
  identifier: "TextBlock",
  description: "Text in a message."
})

export const FileBlock = Schema.Struct({
  type: field(Schema.Literal("file"), "Tells the kinds of blocks apart."),
  upload_id: field(UploadId, "The upload that brought the file."),
  place: field(UploadPlace, "The place of the file."),
  path: field(Schema.String, "Its path from the root of the workspace; the name of an attachment."),
  size: field(Schema.Int, "Its size in bytes."),
  digest: field(Schema.String, "Its SHA-256, as in `sha256:<hex>`.")
}).annotations({
  identifier: "FileBlock",
  description:
    "A file that came with a message, as it was uploaded. The message keeps this description when the file changes or is deleted later. The bytes are where `place` says, and nowhere else."
})
export type FileBlock = typeof FileBlock.Type

export const ContentBlock = Schema.Union(TextBlock, FileBlock).annotations({
  identifier: "ContentBlock",
  description: "A part of the content of a message."
})
export type ContentBlock = typeof ContentBlock.Type

/** The text of a content, a line for each block, without its files. */
export const textOf = (content: ReadonlyArray<ContentBlock>): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")

/** The most blocks of one message: each is stored, sent with events and read again by every reader. */
const maxBlocks = 1000

const FileInput = Schema.Struct({
  type: field(Schema.Literal("file"), "Tells the kinds of blocks apart."),
  upload_id: field(UploadId, "The `upload_id` that the upload was answered with.")
}).annotations({ description: "A file that was uploaded to the session." })

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

export const MessageInput = Schema.Union(Schema.String, Schema.Array(ContentInput).pipe(Schema.maxItems(maxBlocks)))
  .pipe(Schema.filter(isSaid, { message: () => "Input should hold 1 to 100000 characters of text" }))
  .annotations({
    identifier: "MessageInput",
    description:
      "Text, or a list of at most 1,000 blocks. It has 100,000 characters at most, and at least one unless there is a file.",
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

const partOf = <Kind extends "text" | "reasoning" | "tool" | "diff", Content extends Schema.Schema.All>(
  kinds: readonly [Kind, Kind],
  content: Schema.propertySignature<Content>
) =>
  Schema.Struct({
    part_key: field(Schema.String, "The name of the part within its message."),
    kind: field(Schema.Literal(...kinds), "What the part is."),
    revision: field(
      Schema.Int,
      "Counts the changes of the part. A reader applies an append only when its revision follows the known one, and a replace when its revision is higher."
    ),
    mode: field(
      Schema.Literal("replace", "append"),
      "`append` adds the content to what there is, `replace` takes its place."
    ),
    content,
    sealed: field(Schema.Boolean, "True when the part will not change again.")
  })

const WordsPart = partOf(["text", "reasoning"], field(Schema.String, "The words.")).annotations({
  identifier: "WordsPart",
  description: "Words that the agent says, or thinks."
})

const OtherPart = partOf(["tool", "diff"], field(Schema.Unknown, "What the agent gives.")).annotations({
  identifier: "OtherPart",
  description: "What the agent shows besides words."
})

const MediaPart = Schema.Struct({
  ...partOf(["tool", "diff"], field(Media, "What is shown. It comes once, whole.")).fields,
  kind: field(Schema.Literal("media"), "What the part is.")
}).annotations({
  identifier: "MediaPart",
  description: "An image, a sound or a file in the agent's answer."
})

export const MessagePart = Schema.Union(WordsPart, OtherPart, MediaPart).annotations({
  identifier: "MessagePart",
  description: "A piece of the agent's output, as `message.part_added` and `message.part_updated` carry it."
})
export type MessagePart = typeof MessagePart.Type

const partKey = field(Schema.String, "The name of the part within its message.")

export const AnswerPart = Schema.Union(
  Schema.Struct({
    kind: field(Schema.Literal("text", "reasoning"), "What the agent said, or thought."),
    part_key: partKey,
    text: field(Schema.String, "The words.")
  }),
  Schema.Struct({
    kind: field(Schema.Literal("tool"), "A tool call."),
    part_key: partKey,
    tool: field(
      ToolPayload,
      "The call as it ended, with its result. A text of it has at most 4,096 characters here; the event `tool.completed` has more."
    )
  }),
  Schema.Struct({
    kind: field(Schema.Literal("plan"), "A plan."),
    part_key: partKey,
    plan: field(AgentPlan, "The plan as the agent left it.")
  }),
  Schema.Struct({
    kind: field(Schema.Literal("media"), "An image, a sound or a file."),
    part_key: partKey,
    media: field(Media, "What is shown.")
  })
).annotations({ identifier: "AnswerPart", description: "A part of what an agent did and said in a turn, as it ended." })
export type AnswerPart = typeof AnswerPart.Type

/** A part without what a tool, an image or a file gave, which the events before the end of an answer hold. */
export const withoutResult = (part: AnswerPart): AnswerPart => {
  if (part.kind === "tool")
    return { ...part, tool: { ...part.tool, input: null, output_text: null, diffs: [], media: [], truncated: true } }
  return part.kind === "media" ? { ...part, media: { ...part.media, data: null, text: null, truncated: true } } : part
}

export const Message = Schema.Struct({
  id: field(MessageId, "The id of the message."),
  session_id: field(SessionId, "The session that the message belongs to."),
  ordinal: field(Schema.Int, "The number of the message in its session, counted from 1."),
  role: field(MessageRole, "Who speaks."),
  kind: field(
    Schema.Literal("message", "handoff_summary", "delegation", "care"),
    "`handoff_summary` is what a session begins with that goes on from another one; `delegation` passes between a session and its child; `care` is what a merge request of the session needs; all others are a `message`."
  ),
  author: field(
    Schema.Struct({
      kind: field(
        Schema.String,
        "`account` or `api_key` for a caller, `harness` for an agent, `system` for the service."
      ),
      id: field(Schema.String, "The id of the author, of the kind that `kind` says.")
    }),
    "Who wrote it."
  ),
  routing: field(Routing, "Where the message goes."),
  content: field(Schema.Array(ContentBlock), "The text and the files, in order."),
  parts: field(
    Schema.Array(AnswerPart),
    "All that the agent said, thought, did and showed, in the order in which it began, so that a page can be drawn without the events. In the event `message.completed`, tool calls, images and files are without what they gave, which events before it hold. Parts beyond 1,048,576 characters are without their results. Empty for a message that is not of an agent, and for one of a release before."
  ),
  turn_id: field(Schema.NullOr(TurnId), "The turn that works on it or has written it; null for a note."),
  state: field(MessageState, "How far it has come."),
  created_at: field(Timestamp, "The time at which it was accepted, or completed by the agent.")
}).annotations({ identifier: "Message", description: "A message of a session." })
export type Message = typeof Message.Type
