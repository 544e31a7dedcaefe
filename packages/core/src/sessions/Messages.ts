import { fn } from "@reins/base/base/Traced"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Context, Effect, Layer } from "effect"
import { actorOf, type Denied, type Unseen } from "../access/Access.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { OfferedTools } from "./functions/OfferedTools.js"
import { Inbox } from "./Inbox.js"
import type { Unpostable } from "./MessageAdmission.js"
import type { MessageSend, SentMessage } from "./messages/ConversationApi.js"
import { MessageStore } from "./messages/MessageStore.js"
import { ResultSchemas } from "./results/ResultSchemas.js"
import type { Message } from "./rows/Message.js"
import { SessionStore } from "./rows/SessionStore.js"

/** The conversation of a session: its messages in order, and the way to add one. */
export class Messages extends Context.Tag("@reins/core/sessions/Messages")<
  Messages,
  {
    /** The messages of a session, oldest first, those of its agent too. A session that the principal may not see is `not_found`. */
    readonly list: (
      principal: Principal,
      sessionId: string,
      page: PageRequest
    ) => Effect.Effect<Page<Message>, Unseen | ReinsError<"invalid_cursor">>
    /**
     * Takes a message and, unless it is a note, queues its turn; the answer has the turn and its job. Its files have to be uploads of this
     * session, else it fails with `RequestInvalid`. Fails with `invalid_transition` for a session that is not open, with
     * `payload_too_large` for a text longer than `limits.messageCharacters`, with `quota_exhausted` for a full queue, and with
     * `context_unavailable` when the agent has lost its record of the conversation. `connection_required`, `connection_revoked`,
     * `credential_invalid`, `model_required` and `provider_disabled` say why no turn could run, and `unsupported_capability` that the
     * provider cannot be steered.
     */
    readonly send: (
      principal: Principal,
      sessionId: string,
      input: MessageSend
    ) => Command<SentMessage, Denied | Unpostable | RequestInvalid>
  }
>() {
  static readonly layer = Layer.effect(
    Messages,
    Effect.gen(function* () {
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const messages = yield* MessageStore
      const inbox = yield* Inbox
      const schemas = yield* ResultSchemas
      const tools = yield* OfferedTools

      return Messages.of({
        list: fn("Messages.list")(function* (principal, sessionId, page) {
          const session = yield* sessions.readable(principal, sessionId)
          return yield* messages.list(session.id, page)
        }),
        send: (principal, sessionId, input) =>
          journal.prepared(
            "Messages.send",
            { by: principal, about: { type: "session", id: sessionId } },
            Effect.as(
              Effect.zipRight(schemas.checkSchema(input.result_schema), tools.check(input.tools, ["body", "tools"])),
              Effect.flatMap(sessions.writable(principal, sessionId), (session) =>
                inbox.accept(session, actorOf(principal), input)
              )
            )
          )
      })
    })
  )
}
