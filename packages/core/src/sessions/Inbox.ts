import type { Actor } from "@reins/base/domain/Event"
import { MessageId, newId } from "@reins/base/domain/Ids"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Context, Effect, Layer, ParseResult, Schema } from "effect"
import type { BudgetInput } from "../budgets/Budget.js"
import { BudgetStore } from "../budgets/BudgetStore.js"
import type { Commit } from "../store/Commit.js"
import { Journal } from "../store/Journal.js"
import type { MessageTools } from "./functions/FunctionTool.js"
import { OfferedTools } from "./functions/OfferedTools.js"
import { admission, type Posting, type Unpostable } from "./MessageAdmission.js"
import type { MessageSend, SentMessage } from "./messages/ConversationApi.js"
import { MessageStore } from "./messages/MessageStore.js"
import { UploadStore } from "./messages/UploadStore.js"
import { TurnResults } from "./results/TurnResults.js"
import type { Message } from "./rows/Message.js"
import type { SessionRow } from "./rows/SessionRow.js"
import type { ResultSchema } from "./rows/TurnResult.js"
import { Steering } from "./turns/Steering.js"
import { TurnStore } from "./turns/TurnStore.js"

/** The way of a message into a session, for every author. The commit holds the session. */
export class Inbox extends Context.Tag("@reins/core/sessions/Inbox")<
  Inbox,
  {
    /** Takes a message and, unless it is a note or goes into a turn that has begun, queues its turn. The service itself may leave a note in an archived session. */
    readonly post: (
      session: SessionRow,
      actor: Actor,
      posting: Posting,
      kind: Message["kind"]
    ) => Effect.Effect<SentMessage, Unpostable, Commit>
    /**
     * `post` for the body of a request, whose files have to be uploads of the session. `at` is where that body holds the content, for the
     * errors that point to it.
     */
    readonly accept: (
      session: SessionRow,
      actor: Actor,
      input: MessageSend,
      as?: { readonly kind?: Message["kind"]; readonly at?: ReadonlyArray<string> }
    ) => Effect.Effect<SentMessage, Unpostable | RequestInvalid, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    Inbox,
    Effect.gen(function* () {
      const journal = yield* Journal
      const messages = yield* MessageStore
      const turns = yield* TurnStore
      const uploads = yield* UploadStore
      const budgets = yield* BudgetStore
      const results = yield* TurnResults
      const offered = yield* OfferedTools
      const steering = yield* Steering
      const admit = yield* admission

      const post = Effect.fnUntraced(function* (
        session: SessionRow,
        actor: Actor,
        { budget, content, resultSchema, routing = "queue", tools }: Posting,
        kind: Message["kind"]
      ) {
        const into = yield* admit(session, actor, { budget, content, routing, tools })
        const accepted = yield* messages.accept(
          {
            id: yield* newId(MessageId),
            session_id: session.id,
            role: actor.kind === "system" ? "system" : "user",
            kind,
            author: { kind: actor.kind, id: actor.id },
            routing: routing === "note" || into !== undefined ? routing : "queue",
            content: typeof content === "string" ? [{ type: "text", text: content }] : content
          },
          actor
        )
        if (routing === "note") return accepted
        const { message } = accepted
        if (into !== undefined) {
          yield* messages.assign(message.id, into)
          yield* messages.steer(message.id, "waiting")
          yield* steering.ring(into)
          return { ...accepted, message: { ...message, turn_id: into }, turn_id: into }
        }
        const { operation, turn } = yield* turns.queue(session, actor, message.id)
        yield* messages.assign(message.id, turn.id)
        if (budget !== undefined) yield* budgets.set(turn.id, budget)
        if (resultSchema !== undefined) yield* results.ask(turn, { schema: resultSchema, isRequired: true })
        if (tools !== undefined) yield* offered.choose({ id: turn.id, session_id: session.id }, tools)
        const watermark = yield* journal.append(session.id, actor, [])
        return { message: { ...message, turn_id: turn.id }, turn_id: turn.id, operation, event_watermark: watermark }
      })

      return Inbox.of({
        post,
        accept: (session, actor, input, { at = ["content"], kind = "message" } = {}) =>
          Effect.gen(function* () {
            const content = yield* uploads.contentOf(session.id, input, at)
            const { budget, result_schema, routing, tools } = input
            const posting = { content, routing, budget, resultSchema: result_schema, tools }
            const sent = yield* post(session, actor, posting, kind)
            if ("operation" in sent) return sent
            if (budget !== undefined) return yield* withoutTurn(at, "budget", budget)
            if (result_schema !== undefined) return yield* withoutTurn(at, "result_schema", result_schema)
            if (tools !== undefined) return yield* withoutTurn(at, "tools", tools)
            return sent
          })
      })
    })
  )
}

/** The refusal of a budget, of a wish for a result or of functions that no turn would have. */
const withoutTurn = (
  at: ReadonlyArray<string>,
  name: "budget" | "result_schema" | "tools",
  given: BudgetInput | ResultSchema | MessageTools
): RequestInvalid =>
  new RequestInvalid({
    loc: ["body", ...at.slice(0, -1), name],
    issue: new ParseResult.Type(
      Schema.Unknown.ast,
      given,
      `only a message that starts a turn has a ${name}: a note starts none, and this one goes into a turn that has begun`
    ),
    input: given
  })
