import { fn } from "@reins/base/base/Traced"
import type { Actor, NewEvent } from "@reins/base/domain/Event"
import type { MessageId, SessionId, TurnId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import { Journal } from "../../store/Journal.js"
import * as Keyset from "../../store/Keyset.js"
import { stateList } from "../../store/StateList.js"
import { type Message, type MessageState, messageStates, textOf, withoutResult } from "../rows/Message.js"
import { searchIndex } from "../rows/SearchIndex.js"
import type { SessionRow } from "../rows/SessionRow.js"

/** A message as somebody says it, before the store gives it its place in the session. */
export type NewMessage = Omit<Message, "ordinal" | "parts" | "turn_id" | "state" | "created_at">

/** A message that goes into a turn which has begun. */
export interface Steered {
  readonly message: Message
  readonly steering: "waiting" | "offered"
}

/** The rows of messages, their states, and the events that tell of them. The content of a message never changes. */
export class MessageStore extends Context.Tag("@reins/core/sessions/messages/MessageStore")<
  MessageStore,
  {
    /** The messages of a session, oldest first. */
    readonly list: (
      sessionId: SessionId,
      page: PageRequest
    ) => Effect.Effect<Page<Message>, ReinsError<"invalid_cursor">>
    /** The message as it stands; undefined when there is none. */
    readonly find: (messageId: MessageId) => Effect.Effect<Message | undefined>
    /** The summary that a session began with because it goes on from another one; undefined for every other session. */
    readonly findHandoff: (sessionId: SessionId) => Effect.Effect<Message | undefined>
    /** The authors of the messages of people and programs that an agent was given in a time, oldest first, each once. */
    readonly authors: (
      sessionId: SessionId,
      time: { readonly after: Timestamp | null; readonly until: Timestamp }
    ) => Effect.Effect<ReadonlyArray<Actor>>
    /** The last words of the agent of a session; undefined when it has said nothing. */
    readonly lastWords: (sessionId: SessionId) => Effect.Effect<string | undefined>
    /** Adds a message, which waits for its turn unless it is a note, and tells `message.accepted`. The commit holds the session. */
    readonly accept: (
      message: NewMessage,
      actor: Actor
    ) => Effect.Effect<{ readonly message: Message; readonly event_watermark: number }, never, Commit>
    /** Marks a message that is on its way into a turn: `waiting` for its agent, `offered` to it, or settled with null. */
    readonly steer: (messageId: MessageId, steering: Steered["steering"] | null) => Effect.Effect<void, never, Commit>
    /** The messages on their way into a turn, oldest first. */
    readonly steeredInto: (turnId: TurnId) => Effect.Effect<ReadonlyArray<Steered>>
    /** A message on its way into a turn; undefined for every other one. */
    readonly findSteered: (messageId: MessageId) => Effect.Effect<Steered | undefined>
    /** Names the turn that a message has started, or goes into. */
    readonly assign: (messageId: MessageId, turnId: TurnId) => Effect.Effect<void, never, Commit>
    /** Marks a message that the agent has been given, and tells it. The message of a retried turn may be delivered already. */
    readonly deliver: (message: Message, actor: Actor) => Effect.Effect<void, never, Commit>
    /** Cancels a message that still waits. Every other one stays as it is. */
    readonly cancel: (messageId: MessageId) => Effect.Effect<void, never, Commit>
    /** Has a message that was cancelled wait again, for the retry of its turn. Every other one stays as it is. */
    readonly requeue: (messageId: MessageId) => Effect.Effect<void, never, Commit>
    /** Adds the answer of the agent in a turn, under the id that its parts were announced with, and tells `message.completed`. */
    readonly complete: (
      id: MessageId,
      session: Pick<SessionRow, "id">,
      turnId: TurnId,
      actor: Actor,
      answer: Pick<Message, "content" | "parts">
    ) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    MessageStore,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const sql = db.sql
      const search = yield* searchIndex

      const insertRow = db.prepareRow((row) => sql`insert into messages ${sql.insert(row)}`)
      /** Adds a message and tells it. The append of the event counts the message. */
      const add = Effect.fnUntraced(function* (
        message: Omit<Message, "ordinal" | "created_at">,
        actor: Actor,
        eventOf: (message: Message) => NewEvent
      ) {
        const { message_count, workspace_id } = yield* journal.held(message.session_id)
        const added: Message = { ...message, ordinal: message_count + 1, created_at: yield* now }
        yield* db.run(
          insertRow({
            ...added,
            author: JSON.stringify(added.author),
            content: JSON.stringify(added.content),
            parts: added.parts.length === 0 ? null : JSON.stringify(added.parts)
          })
        )
        yield* search.addMessage({ id: added.session_id, workspace_id }, textOf(added.content))
        const event_watermark = yield* journal.append(message.session_id, actor, [eventOf(added)], 1)
        return { message: added, event_watermark }
      })

      return MessageStore.of({
        list: fn("MessageStore.list")(function* (sessionId, page) {
          const { after, limit } = yield* Keyset.ascending(page)
          const rows =
            yield* db.all(sql<MessageRow>`select * from messages where session_id = ${sessionId} and ordinal > ${after}
          order by ordinal limit ${limit + 1}`)
          return Keyset.page(rows.map(toMessage), limit, (message) => message.ordinal)
        }),
        find: (messageId) =>
          Effect.map(db.first(sql<MessageRow>`select * from messages where id = ${messageId}`), toMessageOrNone),
        findHandoff: (sessionId) =>
          Effect.map(
            db.first(sql<MessageRow>`select * from messages
            where session_id = ${sessionId} and ordinal = 1 and kind = 'handoff_summary'`),
            toMessageOrNone
          ),
        accept: (message, actor) =>
          add(
            { ...message, parts: [], turn_id: null, state: message.routing === "note" ? "accepted" : "queued" },
            actor,
            acceptedEvent
          ),
        ...steeredMessages(db),
        ...waitingMessages(db),
        authors: authorsOf(db),
        assign: (messageId, turnId) => db.run(sql`update messages set turn_id = ${turnId} where id = ${messageId}`),
        deliver: fn("MessageStore.deliver")(function* (message, actor) {
          if (message.state === "delivered") return
          yield* Effect.orDie(messageStates.check(message.state, "delivered"))
          yield* db.run(sql`update messages set state = 'delivered' where id = ${message.id}`)
          yield* journal.append(message.session_id, actor, [
            {
              type: "message.delivered",
              payload: { message_id: message.id },
              ...(message.turn_id !== null && { subjects: { turn_id: message.turn_id } })
            }
          ])
        }),
        complete: (id, session, turnId, actor, { content, parts }) =>
          Effect.asVoid(
            add(
              {
                id,
                session_id: session.id,
                role: "assistant",
                kind: "message",
                author: { kind: actor.kind, id: actor.id },
                routing: "queue",
                content,
                parts,
                turn_id: turnId,
                state: "delivered"
              },
              actor,
              (message) => ({
                type: "message.completed",
                payload: { message: { ...message, parts: message.parts.map(withoutResult) } },
                subjects: { turn_id: turnId }
              })
            )
          )
      })
    })
  )
}

/** The messages on their way into a turn, and the last words of an agent. */
const steeredMessages = (
  db: Database["Type"]
): Pick<MessageStore["Type"], "findSteered" | "lastWords" | "steer" | "steeredInto"> => {
  const { sql } = db
  return {
    steer: (messageId, steering) => db.run(sql`update messages set steering = ${steering} where id = ${messageId}`),
    steeredInto: (turnId) =>
      Effect.map(
        db.all(sql<MessageRow>`select * from messages where turn_id = ${turnId} and steering is not null
          order by ordinal`),
        (rows) => rows.flatMap(toSteered)
      ),
    findSteered: (messageId) =>
      Effect.map(
        db.first(sql<MessageRow>`select * from messages where id = ${messageId} and steering is not null`),
        (row) => (row === undefined ? undefined : toSteered(row)[0])
      ),
    lastWords: (sessionId) =>
      Effect.map(
        db.first(sql<MessageRow>`select * from messages
        where session_id = ${sessionId} and role = 'assistant' and content <> '[]' order by ordinal desc limit 1`),
        (row) => (row === undefined ? undefined : textOf(toMessage(row).content))
      )
  }
}

/** The end of the wait of a message, and another one for the retry of its turn. */
const waitingMessages = ({ run, sql }: Database["Type"]): Pick<MessageStore["Type"], "cancel" | "requeue"> => {
  const waiting = sql.literal(stateList(statesBefore("cancelled")))
  return {
    cancel: (messageId) =>
      run(sql`update messages set state = 'cancelled' where id = ${messageId} and state in (${waiting})`),
    requeue: (messageId) =>
      run(sql`update messages set state = 'queued' where id = ${messageId} and state = 'cancelled'`)
  }
}

const acceptedEvent = (message: Message): NewEvent => ({ type: "message.accepted", payload: { message } })

/** The states from which a message may move to another one. */
const statesBefore = (to: MessageState): ReadonlyArray<MessageState> =>
  messageStates.states.filter((from) => messageStates.allows(from, to))

/** `MessageStore.authors`. */
const authorsOf =
  (db: Database["Type"]): MessageStore["Type"]["authors"] =>
  (sessionId, { after, until }) =>
    Effect.map(
      db.all(db.sql<{ author: string }>`select author, min(ordinal) as first from messages
      where session_id = ${sessionId} and role = 'user' and state = 'delivered'
        and created_at > ${after ?? ""} and created_at <= ${until}
      group by author order by first`),
      (rows) => rows.map(({ author }): Actor => JSON.parse(author))
    )

interface MessageRow extends Omit<Message, "author" | "content" | "parts"> {
  readonly author: string
  readonly parts: string | null
  readonly steering: Steered["steering"] | null
  readonly content: string
}

const toSteered = (row: MessageRow): ReadonlyArray<Steered> =>
  row.steering === null ? [] : [{ message: toMessage(row), steering: row.steering }]

const toMessage = ({ steering, ...row }: MessageRow): Message => ({
  ...row,
  author: JSON.parse(row.author),
  content: JSON.parse(row.content),
  parts: row.parts === null ? [] : JSON.parse(row.parts)
})

const toMessageOrNone = (row: MessageRow | undefined): Message | undefined =>
  row === undefined ? undefined : toMessage(row)
