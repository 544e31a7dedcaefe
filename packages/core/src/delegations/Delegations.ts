import { fn } from "@reins/base/base/Traced"
import type { Page, StatePageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Context, Effect, Layer } from "effect"
import { actorOf, type Denied, type Unseen } from "../access/Access.js"
import type { Unbegun } from "../sessions/creation/SessionLifecycles.js"
import { Inbox } from "../sessions/Inbox.js"
import type { Unpostable } from "../sessions/MessageAdmission.js"
import type { MessageSend, SentMessage } from "../sessions/messages/ConversationApi.js"
import { ResultSchemas } from "../sessions/results/ResultSchemas.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { type Delegation, type DelegationState, delegationStates } from "./Delegation.js"
import { delegationAccess } from "./DelegationAccess.js"
import { delegationEndings } from "./DelegationEndings.js"
import { DelegationStore } from "./DelegationStore.js"
import type { DelegationAnswer, DelegationInput } from "./DelegationsApi.js"
import { spawnPreparation } from "./SpawnCommand.js"

/** The codes of a command for a resource that the principal may not change, or whose state does not allow it. */
type CommandRefusal = Denied | ReinsError<"invalid_transition">

/** Work that a session delegates to child sessions. `DelegationTurns` moves delegations with the turns of their children. */
export class Delegations extends Context.Tag("@reins/core/delegations/Delegations")<
  Delegations,
  {
    /** The delegations of a session, newest first. */
    readonly list: (
      principal: Principal,
      sessionId: string,
      page: StatePageRequest<DelegationState>
    ) => Effect.Effect<Page<Delegation>, Unseen | ReinsError<"invalid_cursor">>
    /** A delegation of a workspace that the principal may see. */
    readonly get: (principal: Principal, delegationId: string) => Effect.Effect<Delegation, Unseen>
    /**
     * Makes a child session and sends it the instructions. Fails with `delegation_limit`, with `stale_subject` for an unsealed changeset,
     * with `invalid_transition` for a session that is not open, and like the creation of a session when no turn could run.
     */
    readonly spawn: (
      principal: Principal,
      sessionId: string,
      input: DelegationInput
    ) => Command<
      DelegationAnswer,
      CommandRefusal | ReinsError<"delegation_limit" | "stale_subject"> | Unbegun | Unpostable | RequestInvalid
    >
    /** Cancels the turns of the child and closes it. Fails with `invalid_transition` for a delegation that has ended. */
    readonly cancel: (principal: Principal, delegationId: string) => Command<Delegation, CommandRefusal>
    /** Sends the child another message, with uploads of the child. Fails with `invalid_transition` once the delegation has ended. */
    readonly send: (
      principal: Principal,
      delegationId: string,
      input: MessageSend
    ) => Command<SentMessage, CommandRefusal | Unpostable | RequestInvalid>
  }
>() {
  static readonly layer = Layer.effect(
    Delegations,
    Effect.gen(function* () {
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const inbox = yield* Inbox
      const schemas = yield* ResultSchemas
      const store = yield* DelegationStore
      const { readable, writable } = yield* delegationAccess
      const endings = yield* delegationEndings
      const spawn = yield* spawnPreparation

      return Delegations.of({
        list: fn("Delegations.list")(function* (principal, sessionId, page) {
          const session = yield* sessions.readable(principal, sessionId)
          return yield* store.list(session.id, page)
        }),
        get: readable,
        spawn: (principal, sessionId, input) =>
          journal.prepared(
            "Delegations.spawn",
            { by: principal, about: { type: "session", id: sessionId } },
            spawn(principal, sessionId, input)
          ),
        cancel: (principal, delegationId) =>
          journal.command(
            "Delegations.cancel",
            { by: principal, about: { type: "delegation", id: delegationId } },
            Effect.gen(function* () {
              const held = yield* writable(principal, delegationId)
              yield* delegationStates.check(held.delegation.state, "cancelled")
              const why = { reason: "user_cancelled" as const, message: "It was cancelled." }
              return yield* endings.cancel(held, actorOf(principal), why)
            })
          ),
        send: (principal, delegationId, input) =>
          journal.prepared(
            "Delegations.send",
            { by: principal, about: { type: "delegation", id: delegationId } },
            Effect.as(
              schemas.checkSchema(input.result_schema),
              Effect.gen(function* () {
                const { child, delegation } = yield* writable(principal, delegationId)
                if (delegationStates.isTerminal(delegation.state)) return yield* ended(delegation)
                const sent = yield* inbox.accept(child, actorOf(principal), input, { kind: "delegation" })
                yield* store.tell(delegation, actorOf(principal), {
                  type: "delegation.message_sent",
                  payload: { child_session_id: child.id, message_id: sent.message.id }
                })
                return sent
              })
            )
          )
      })
    })
  )
}

const ended = (delegation: Delegation): ReinsError<"invalid_transition"> =>
  new ReinsError({
    code: "invalid_transition",
    message: `The delegation has ended: it is ${delegation.state}. Send a message to its child session instead, or delegate again.`,
    details: { resource: "delegation", from: delegation.state, child_session_id: delegation.child_session_id }
  })
