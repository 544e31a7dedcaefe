import { Context, Effect, Layer } from "effect"
import { actorOf } from "../access/Access.js"
import type { MessageSend, SentMessage } from "../api/ConversationApi.js"
import { CoreConfig } from "../base/CoreConfig.js"
import { fn } from "../base/Traced.js"
import { Providers } from "../catalog/Providers.js"
import type { Actor } from "../domain/Event.js"
import { MessageId, newId, type SessionId, type TurnId } from "../domain/Ids.js"
import type { ContentBlock, Message } from "../domain/Message.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { ReinsError } from "../domain/ReinsError.js"
import type { RequestInvalid } from "../domain/RequestInvalid.js"
import { now } from "../domain/Timestamp.js"
import type { Command } from "../store/Command.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { type SessionRow, SessionStore } from "./SessionStore.js"
import { notOpen, Turns } from "./Turns.js"
import { Uploads } from "./Uploads.js"

/** What is posted: text, or blocks that are complete. */
export interface Posting {
  readonly content: string | ReadonlyArray<ContentBlock>
  readonly routing?: Message["routing"] | undefined
}

/** What was said in a session, in order. A message never changes. */
export class Messages extends Context.Tag("@reins/core/sessions/Messages")<
  Messages,
  {
    /** Oldest first. */
    readonly list: (
      principal: Principal,
      sessionId: string,
      page: PageRequest
    ) => Effect.Effect<Page<Message>, ReinsError>
    /** Accepts a message and, unless it is a note, queues its turn. Files have to be uploads of this session. */
    readonly send: (
      principal: Principal,
      sessionId: string,
      input: MessageSend
    ) => Command<SentMessage, ReinsError | RequestInvalid>
    /** `send` for a session that the running commit already holds. `field` is where the content stands in the body. */
    readonly accept: (
      principal: Principal,
      session: SessionRow,
      input: MessageSend,
      as?: { readonly kind?: Message["kind"]; readonly field?: "content" | "message" }
    ) => Effect.Effect<SentMessage, ReinsError | RequestInvalid, Commit>
    /** Posts as any author. The service itself may leave a note in an archived session. */
    readonly post: (
      session: SessionRow,
      actor: Actor,
      posting: Posting,
      kind: Message["kind"]
    ) => Effect.Effect<SentMessage, ReinsError, Commit>
    readonly find: (messageId: MessageId) => Effect.Effect<Message | undefined>
    /** The summary that a session was made with from another one; undefined for every other session. */
    readonly findHandoff: (sessionId: SessionId) => Effect.Effect<Message | undefined>
    /** The agent has been given the message. */
    readonly deliver: (message: Message, actor: Actor) => Effect.Effect<void, never, Commit>
    /** Stores what the agent said in a turn under an id that its parts were announced with. */
    readonly complete: (
      id: MessageId,
      session: SessionRow,
      turnId: TurnId,
      actor: Actor,
      content: ReadonlyArray<ContentBlock>
    ) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    Messages,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const store = yield* SessionStore
      const turns = yield* Turns
      const providers = yield* Providers
      const uploads = yield* Uploads
      const { limits } = yield* CoreConfig
      const sql = db.sql

      const insertRow = db.prepareRow((row) => sql`insert into messages ${sql.insert(row)}`)
      /** The append that tells of the message counts it. */
      const insert = Effect.fnUntraced(function* (message: Omit<Message, "ordinal" | "created_at">) {
        const { message_count } = yield* journal.held(message.session_id)
        const row: Message = { ...message, ordinal: message_count + 1, created_at: yield* now }
        yield* db.run(insertRow({ ...row, author: JSON.stringify(row.author), content: JSON.stringify(row.content) }))
        return row
      })

      const post = Effect.fnUntraced(function* (
        session: SessionRow,
        actor: Actor,
        { content, routing = "queue" }: Posting,
        kind: Message["kind"]
      ) {
        const isOwnNote = actor.kind === "system" && routing === "note" && session.lifecycle === "archived"
        if (session.lifecycle !== "open" && !isOwnNote) return yield* notOpen(session)
        if (actor.kind !== "system") yield* checkLength(content, limits.messageCharacters)
        if (routing === "steer") yield* providers.requireCapability(session.provider_id, "steer")
        if (routing !== "note") {
          yield* providers.requireRunnable(session.workspace_id, session.provider_id, session.connection_id)
          if (session.context_lost === 1) return yield* contextLost(session)
        }
        const message = yield* insert({
          id: yield* newId(MessageId),
          session_id: session.id,
          role: actor.kind === "system" ? "system" : "user",
          kind,
          author: { kind: actor.kind, id: actor.id },
          routing,
          content: typeof content === "string" ? [{ type: "text", text: content }] : content,
          turn_id: null,
          state: routing === "note" ? "accepted" : "queued"
        })
        const accepted = yield* journal.append(
          session.id,
          actor,
          [{ type: "message.accepted", payload: { message } }],
          1
        )
        if (routing === "note") return { message, event_watermark: accepted }
        const { operation, turn } = yield* turns.queue(session, actor, message.id)
        yield* db.run(sql`update messages set turn_id = ${turn.id} where id = ${message.id}`)
        const watermark = yield* journal.append(session.id, actor, [])
        return { message: { ...message, turn_id: turn.id }, turn_id: turn.id, operation, event_watermark: watermark }
      })

      const accept: Messages["Type"]["accept"] = (
        principal,
        session,
        input,
        { field = "content", kind = "message" } = {}
      ) =>
        Effect.flatMap(uploads.contentOf(session.id, input, field), (content) =>
          post(session, actorOf(principal), { content, routing: input.routing }, kind)
        )

      return Messages.of({
        list: fn("Messages.list")(function* (principal, sessionId, page) {
          const session = yield* store.readable(principal, sessionId)
          const { after, limit } = yield* Keyset.ascending(page)
          const rows =
            yield* db.all(sql<MessageRow>`select * from messages where session_id = ${session.id} and ordinal > ${after}
          order by ordinal limit ${limit + 1}`)
          return Keyset.page(rows.map(toMessage), limit, (message) => message.ordinal)
        }),
        send: (principal, sessionId, input) =>
          journal.command(
            "Messages.send",
            Effect.flatMap(store.writable(principal, sessionId), (session) => accept(principal, session, input))
          ),
        accept,
        post,
        find: (messageId) =>
          Effect.map(db.first(sql<MessageRow>`select * from messages where id = ${messageId}`), (row) =>
            row === undefined ? undefined : toMessage(row)
          ),
        findHandoff: (sessionId) =>
          Effect.map(
            db.first(sql<MessageRow>`select * from messages
            where session_id = ${sessionId} and ordinal = 1 and kind = 'handoff_summary'`),
            (row) => (row === undefined ? undefined : toMessage(row))
          ),
        deliver: fn("Messages.deliver")(function* (message, actor) {
          // The message of a retried turn was delivered before.
          if (message.state === "delivered") return
          yield* db.run(sql`update messages set state = 'delivered' where id = ${message.id}`)
          yield* journal.append(message.session_id, actor, [
            {
              type: "message.delivered",
              payload: { message_id: message.id },
              ...(message.turn_id !== null && { subjects: { turn_id: message.turn_id } })
            }
          ])
        }),
        complete: fn("Messages.complete")(function* (id, session, turnId, actor, content) {
          const message = yield* insert({
            id,
            session_id: session.id,
            role: "assistant",
            kind: "message",
            author: { kind: actor.kind, id: actor.id },
            routing: "queue",
            content,
            turn_id: turnId,
            state: "delivered"
          })
          yield* journal.append(
            session.id,
            actor,
            [{ type: "message.completed", payload: { message }, subjects: { turn_id: turnId } }],
            1
          )
        })
      })
    })
  )
}

const contextLost = (session: SessionRow): ReinsError =>
  new ReinsError({
    code: "context_unavailable",
    message:
      "The agent's own record of this conversation was changed or lost, so it cannot go on with it. " +
      "Create a new session with a summary as its first message.",
    details: { session_id: session.id, provider_id: session.provider_id }
  })

/** The schema knows the most that any installation takes; this one may take less. */
const checkLength = (content: Posting["content"], limit: number): Effect.Effect<void, ReinsError> => {
  const length =
    typeof content === "string"
      ? content.length
      : content.reduce((sum, block) => sum + (block.type === "text" ? block.text.length : 0), 0)
  return length <= limit
    ? Effect.void
    : Effect.fail(
        new ReinsError({
          code: "payload_too_large",
          message: `A message may have ${limit} characters of text here; this one has ${length}. Send less, or a file.`,
          details: { limit_characters: limit, characters: length }
        })
      )
}

interface MessageRow extends Omit<Message, "author" | "content"> {
  readonly author: string
  readonly content: string
}

const toMessage = (row: MessageRow): Message => ({
  ...row,
  author: JSON.parse(row.author),
  content: JSON.parse(row.content)
})
