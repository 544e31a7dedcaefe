import { cutEnd } from "@reins/base/base/CutText"
import { fn } from "@reins/base/base/Traced"
import type { Actor } from "@reins/base/domain/Event"
import { Effect } from "effect"
import { systemActor } from "../access/Access.js"
import { SessionLifecycles } from "../sessions/creation/SessionLifecycles.js"
import { MessageStore } from "../sessions/messages/MessageStore.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import type { Turn } from "../sessions/rows/Turn.js"
import { TurnStore } from "../sessions/turns/TurnStore.js"
import { delegationStates } from "./Delegation.js"
import { DelegationStore, type EndReason, type HeldDelegation } from "./DelegationStore.js"

/** Ends delegations without a result, together with the work of their child sessions. */
export const delegationEndings = Effect.gen(function* () {
  const store = yield* DelegationStore
  const sessions = yield* SessionLifecycles
  const turns = yield* TurnStore
  const messages = yield* MessageStore

  /** Cancels an ongoing delegation and closes its child. */
  const cancel = Effect.fnUntraced(function* ({ child, delegation }: HeldDelegation, actor: Actor, why: EndReason) {
    const cancelled = yield* store.move(delegation.id, "cancelled", actor, why)
    // Some calls come from the close of the child itself, which is then closing already.
    if (child.lifecycle !== "closed") yield* Effect.orDie(sessions.close(child, actor))
    return cancelled
  })

  return {
    cancel,
    /** Fails a delegation whose deadline has passed and cancels the turns of its child. One that has ended stays as it is. */
    expire: fn("delegationEndings.expire")(function* (delegationId: string) {
      const held = yield* store.lock(delegationId)
      if (held === undefined || delegationStates.isTerminal(held.delegation.state)) return
      yield* store.move(held.delegation.id, "failed", clock, deadlinePassed(yield* messages.lastWords(held.child.id)))
      yield* turns.cancelAll(held.child.id, clock)
    }),
    /** Cancels the delegations that the agent of a turn has made, when the turn is cancelled. */
    cancelOfTurn: fn("delegationEndings.cancelOfTurn")(function* ({ id, session_id }: Turn, actor: Actor) {
      for (const delegation of yield* store.live(session_id)) {
        if ((yield* store.findTurn(delegation.id)) !== id) continue
        const held = yield* store.lock(delegation.id)
        if (held !== undefined && !delegationStates.isTerminal(held.delegation.state))
          yield* cancel(held, actor, turnCancelled)
      }
    }),
    /** Cancels the delegations of a session that is being closed, and the delegation that the session works for. */
    cancelOf: fn("delegationEndings.cancelOf")(function* (session: SessionRow, actor: Actor) {
      if (session.lineage.parent_delegation_id !== null) {
        const own = yield* store.find(session.lineage.parent_delegation_id)
        if (own !== undefined && !delegationStates.isTerminal(own.state)) {
          yield* store.move(own.id, "cancelled", actor, childClosed)
        }
      }
      for (const { id } of yield* store.live(session.id)) {
        const held = yield* store.lock(id)
        if (held !== undefined && !delegationStates.isTerminal(held.delegation.state)) {
          yield* cancel(held, actor, parentClosed)
        }
      }
    })
  }
})

const clock = systemActor("delegations")

/** The longest end of the child's last words that is quoted, in characters. */
const maxWords = 2000

/** The last words are the evidence of how far the child came. */
const deadlinePassed = (words: string | undefined): EndReason => ({
  reason: "deadline_exceeded",
  message:
    "Its deadline passed before there was a result. The child session is kept; look at what it did. " +
    (words === undefined || words.trim() === ""
      ? "The child has said nothing."
      : `The child's last words: ${cutEnd(words.trim(), maxWords)}`)
})

const turnCancelled: EndReason = { reason: "user_cancelled", message: "The turn that delegated it was cancelled." }

const childClosed: EndReason = { reason: "session_closed", message: "The child session was closed." }

const parentClosed: EndReason = { reason: "session_closed", message: "The session that delegated was closed." }
