import { MessageId, newId } from "@reins/base/domain/Ids"
import { AgentPlan } from "@reins/machine/harness/AgentReport"
import { Effect, Option, Schema } from "effect"
import { EventLog } from "../../events/EventLog.js"
import { MessageStore } from "../../sessions/messages/MessageStore.js"
import { MessagePart } from "../../sessions/rows/Message.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { foldTool, type ToolPayload, ToolUpdate } from "../../sessions/rows/ToolCall.js"
import type { Turn } from "../../sessions/rows/Turn.js"
import { Journal } from "../../store/Journal.js"
import { AnswerParts } from "../run/AnswerParts.js"
import { harnessActor } from "../setup/TurnWork.js"

/** The answer of an agent whose end was not seen, as the log has it. */
export interface SaidWords {
  /** The message that the parts were announced with; undefined when the agent has said nothing and only used its tools. */
  readonly messageId: MessageId | undefined
  /** The last event of each part. */
  readonly parts: ReadonlyArray<MessagePart>
  readonly answer: AnswerParts
}

/** The number of events that are read at once. */
const batch = 500

/** Reads the answer of the agent in a turn from the log; undefined when there is none. */
export const readWords = Effect.map(EventLog, (log) =>
  Effect.fnUntraced(function* (turn: Turn) {
    const parts = new Map<string, MessagePart>()
    const answer = new AnswerParts()
    const tools = new Map<string, ToolPayload>()
    let messageId: MessageId | undefined
    let after = 0
    for (let isWhole = false; !isWhole; ) {
      const slice = yield* log.read(turn.session_id, after, batch, turn.id)
      for (const { envelope, type } of slice.events) {
        if (type.startsWith("tool.")) {
          const change = Option.getOrUndefined(decodeTool(envelope))?.payload
          const tool = change === undefined ? undefined : foldTool(tools.get(change.tool_id), change)
          if (tool !== undefined) {
            tools.set(tool.tool_id, tool)
            answer.call(tool)
          }
        }
        if (type === "plan.updated") answer.intend((yield* Effect.orDie(decodePlan(envelope))).payload)
        if (!partTypes.has(type)) continue
        const { message_id, part } = (yield* Effect.orDie(decodePart(envelope))).payload
        messageId = message_id
        parts.set(part.part_key, part)
        if (part.kind === "media") answer.show(part.part_key, part.content)
        else if (part.kind === "text" || part.kind === "reasoning") answer.say(part.kind, part.part_key, part.content)
      }
      after = slice.events.at(-1)?.seq ?? after
      isWhole = slice.isWhole || slice.events.length === 0
    }
    const words: SaidWords = { messageId, parts: [...parts.values()], answer }
    return answer.list().length === 0 ? undefined : words
  })
)

/**
 * Makes a message of these words, so that they stay readable as the result of the turn. Gives the outcome that names the message; undefined
 * without words.
 */
export const keepWords = Effect.gen(function* () {
  const journal = yield* Journal
  const messages = yield* MessageStore
  const sessions = yield* SessionStore

  return Effect.fnUntraced(function* (turn: Turn, words: SaidWords | undefined) {
    const session = yield* sessions.find(turn.session_id)
    if (words === undefined || session === undefined) return undefined
    const { answer } = words
    const messageId = words.messageId ?? (yield* newId(MessageId))
    if ((yield* messages.find(messageId)) !== undefined) return undefined
    const agent = harnessActor(session)
    yield* journal.append(session.id, agent, sealingOf(turn, messageId, words.parts))
    yield* messages.complete(messageId, session, turn.id, agent, { content: answer.content(), parts: answer.list() })
    return { message_id: messageId, stop_reason: "error" }
  })
})

/** The events that seal the parts that are still open. */
const sealingOf = (turn: Turn, message_id: MessageId, parts: ReadonlyArray<MessagePart>) =>
  parts.flatMap(({ kind, part_key, revision, sealed }) =>
    sealed || (kind !== "text" && kind !== "reasoning")
      ? []
      : [
          {
            type: "message.part_updated" as const,
            payload: {
              message_id,
              part: { part_key, kind, revision: revision + 1, mode: "append" as const, content: "", sealed: true }
            },
            subjects: { turn_id: turn.id }
          }
        ]
  )

const partTypes: ReadonlySet<string> = new Set(["message.part_added", "message.part_updated"])

/** Tool calls of a release before have another shape and are left out. */
const decodeTool = Schema.decodeUnknownOption(Schema.parseJson(Schema.Struct({ payload: ToolUpdate })))

const decodePlan = Schema.decodeUnknown(Schema.parseJson(Schema.Struct({ payload: AgentPlan })))

const decodePart = Schema.decodeUnknown(
  Schema.parseJson(Schema.Struct({ payload: Schema.Struct({ message_id: MessageId, part: MessagePart }) }))
)
