import { Context, Effect, Layer } from "effect"
import { actorOf, type Denied, type Unseen } from "../access/Access.js"
import { fn } from "../base/Traced.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { holdsQueue, type Turn, turnStates, unprovenTurnState } from "../domain/Turn.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { notOpen } from "./Refusals.js"
import { SessionStore } from "./SessionStore.js"
import { TurnStore } from "./TurnStore.js"

/**
 * The turns of a session, as people look at them, cancel them and go on after them. A turn whose session the principal may not see is
 * `not_found`; one whose session it may see and not change is `forbidden` to a command.
 */
export class Turns extends Context.Tag("@reins/core/sessions/Turns")<
  Turns,
  {
    /** The turns of a session in the order in which they were queued, oldest first. */
    readonly list: (
      principal: Principal,
      sessionId: string,
      page: PageRequest
    ) => Effect.Effect<Page<Turn>, Unseen | ReinsError<"invalid_cursor">>
    /** A turn as it stands, with its outcome and its usage once it has ended. */
    readonly get: (principal: Principal, turnId: string) => Effect.Effect<Turn, Unseen>
    /**
     * Ends a turn that waits at once, and asks a running one to stop: it is `cancelling` until its agent is gone. Asking again changes
     * nothing. Fails with `invalid_transition` for a turn that has ended.
     */
    readonly cancel: (principal: Principal, turnId: string) => Command<Turn, Denied | ReinsError<"invalid_transition">>
    /**
     * Queues a new turn with the message of a turn that has ended, and acknowledges that one if it was interrupted. Fails with
     * `invalid_transition` for a turn that has not ended and for a session that is not open, and with `quota_exhausted` for a full queue.
     */
    readonly retry: (
      principal: Principal,
      turnId: string
    ) => Command<Turn, Denied | ReinsError<"invalid_transition" | "quota_exhausted">>
    /**
     * Lets the queue go on behind an interrupted turn, of which nobody can prove what it did. Repeating it changes nothing. Fails with
     * `invalid_transition` for every other turn.
     */
    readonly acknowledge: (
      principal: Principal,
      turnId: string
    ) => Command<Turn, Denied | ReinsError<"invalid_transition">>
  }
>() {
  static readonly layer = Layer.effect(
    Turns,
    Effect.gen(function* () {
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const turns = yield* TurnStore

      const existing = (turnId: string) =>
        Effect.flatMap(turns.find(turnId), (turn) =>
          turn === undefined ? Effect.fail(notFound()) : Effect.succeed(turn)
        )
      /** The turn as it stands while the commit holds its session, for a principal that may change it. */
      const held = Effect.fnUntraced(function* (principal: Principal, turnId: string) {
        const { session_id } = yield* existing(turnId)
        const session = yield* sessions.writable(principal, session_id)
        return { session, turn: yield* existing(turnId) }
      })

      return Turns.of({
        list: fn("Turns.list")(function* (principal, sessionId, page) {
          const session = yield* sessions.readable(principal, sessionId)
          return yield* turns.list(session.id, page)
        }),
        get: fn("Turns.get")(function* (principal, turnId) {
          const turn = yield* existing(turnId)
          yield* sessions.readable(principal, turn.session_id)
          return turn
        }),
        cancel: (principal, turnId) =>
          journal.command(
            "Turns.cancel",
            Effect.flatMap(existing(turnId), (turn) =>
              Effect.zipRight(sessions.writable(principal, turn.session_id), turns.cancel(turn.id, actorOf(principal)))
            )
          ),
        retry: (principal, turnId) =>
          journal.command(
            "Turns.retry",
            Effect.gen(function* () {
              const { session, turn } = yield* held(principal, turnId)
              if (!turnStates.isTerminal(turn.state)) return yield* notEnded(turn)
              if (session.lifecycle !== "open") return yield* notOpen(session)
              if (holdsQueue(turn)) yield* turns.acknowledge(turn.id, actorOf(principal))
              return (yield* turns.queue(session, actorOf(principal), turn.message_id, turn.id)).turn
            })
          ),
        acknowledge: (principal, turnId) =>
          journal.command(
            "Turns.acknowledge",
            Effect.gen(function* () {
              const { turn } = yield* held(principal, turnId)
              if (turn.state !== unprovenTurnState) return yield* notInterrupted(turn)
              return holdsQueue(turn) ? yield* turns.acknowledge(turn.id, actorOf(principal)) : turn
            })
          )
      })
    })
  )
}

/** A retry is a new turn and no move of the old one, so the drawn moves do not say when it is allowed. */
const notEnded = (turn: Turn): ReinsError<"invalid_transition"> =>
  new ReinsError({
    code: "invalid_transition",
    message: `Only a turn that has ended is tried again; this one is ${turn.state}.`,
    details: { resource: "turn", from: turn.state }
  })

const notInterrupted = (turn: Turn): ReinsError<"invalid_transition"> =>
  new ReinsError({
    code: "invalid_transition",
    message: `Only an interrupted turn is acknowledged; this one is ${turn.state}.`,
    details: { resource: "turn", from: turn.state }
  })
