import { Effect, Schema } from "effect"
import { MessageId } from "../domain/Ids.js"
import { MessagePart } from "../domain/Message.js"
import type { Turn } from "../domain/Turn.js"
import { EventLog } from "../events/EventLog.js"
import { MessageStore } from "../sessions/MessageStore.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { Journal } from "../store/Journal.js"
import { harnessActor } from "./TurnWork.js"

/** The words of an agent whose end was not seen, as the log has them. */
export interface SaidWords {
  readonly messageId: MessageId
  readonly parts: ReadonlyArray<SaidPart>
}

type SaidPart = MessagePart & {
  readonly text: string
}

/** The number of events that are read at once. */
const batch = 500

/** Reads the words of the agent in a turn from the log; undefined when it said nothing. */
export const readWords = Effect.map(EventLog, (log) =>
  Effect.fnUntraced(function* (turn: Turn) {
    const parts = new Map<string, SaidPart>()
    let messageId: MessageId | undefined
    let after = 0
    for (let isWhole = false; !isWhole; ) {
      const slice = yield* log.read(turn.session_id, after, batch)
      for (const { envelope, turn_id, type } of slice.events) {
        if (turn_id !== turn.id || !partTypes.has(type)) continue
        const { message_id, part } = (yield* Effect.orDie(decodePart(envelope))).payload
        messageId = message_id
        parts.set(part.part_key, {
          ...part,
          text: (part.mode === "append" ? (parts.get(part.part_key)?.text ?? "") : "") + String(part.content)
        })
      }
      after = slice.events.at(-1)?.seq ?? after
      isWhole = slice.isWhole || slice.events.length === 0
    }
    const words: SaidWords | undefined = messageId === undefined ? undefined : { messageId, parts: [...parts.values()] }
    return words
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
    const { messageId, parts } = words
    if ((yield* messages.find(messageId)) !== undefined) return undefined
    const agent = harnessActor(session)
    yield* journal.append(session.id, agent, sealingOf(turn, words))
    const content = parts.flatMap(({ kind, text }) =>
      kind === "text" && text !== "" ? [{ type: "text" as const, text }] : []
    )
    if (content.length === 0) return undefined
    yield* messages.complete(messageId, session, turn.id, agent, content)
    return { message_id: messageId, stop_reason: "error" }
  })
})

/** The events that seal the parts that are still open. */
const sealingOf = (turn: Turn, { messageId, parts }: SaidWords) =>
  parts
    .filter(({ sealed }) => !sealed)
    .map(({ kind, part_key, revision }) => ({
      type: "message.part_updated" as const,
      payload: {
        message_id: messageId,
        part: { part_key, kind, revision: revision + 1, mode: "append" as const, content: "", sealed: true }
      },
      subjects: { turn_id: turn.id }
    }))

const partTypes: ReadonlySet<string> = new Set(["message.part_added", "message.part_updated"])

const decodePart = Schema.decodeUnknown(
  Schema.parseJson(Schema.Struct({ payload: Schema.Struct({ message_id: MessageId, part: MessagePart }) }))
)
