import type { Actor } from "@reins/base/domain/Event"
import { Effect, Layer } from "effect"
import { ChangesetStore } from "../changes/ChangesetStore.js"
import { MessageStore } from "../sessions/messages/MessageStore.js"
import { TurnResults } from "../sessions/results/TurnResults.js"
import { SessionListeners } from "../sessions/rows/SessionListeners.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { askingTurnState, type Turn, type TurnState, turnStates } from "../sessions/rows/Turn.js"
import { type Delegation, type DelegationReason, delegationStates } from "./Delegation.js"
import { delegationEndings } from "./DelegationEndings.js"
import { DelegationStore } from "./DelegationStore.js"
import { ResultStore } from "./ResultStore.js"

/**
 * Lets delegations follow the turns of their children, in the commit that moves a turn:
 *
 * - A delegation is active once a turn of its child runs.
 * - A turn with no turn waiting behind it decides. When it succeeds, the result that the agent has submitted is published, so that it names the
 *   changes of the turn. Without one, its last text becomes the result. When the delegation asks for a result
 *   of a shape, or the agent said nothing, the delegation waits for somebody to submit a result.
 * - When that turn fails or is cancelled, the delegation is too. An interrupted turn fails the delegation at once, because it holds the queue.
 * - A delegation that waits for its result does not fail with a later turn.
 * - When a turn is cancelled, the delegations that its agent has made are too, because nobody waits for them any more.
 * - A child whose agent waits for a person is told of to every session that it works for.
 */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const listeners = yield* SessionListeners
    const sessions = yield* SessionStore
    const messages = yield* MessageStore
    const changesets = yield* ChangesetStore
    const store = yield* DelegationStore
    const results = yield* ResultStore
    const turnResults = yield* TurnResults
    const endings = yield* delegationEndings

    const lastText = Effect.fnUntraced(function* (turn: Turn) {
      const messageId = turn.outcome?.message_id ?? null
      const message = messageId === null ? undefined : yield* messages.find(messageId)
      return message?.content
        .flatMap((block) => (block.type === "text" ? block.text.trim() : []))
        .findLast((text) => text !== "")
    })

    /** The result that the agent has submitted, or its last text where any result will do. */
    const resultOf = Effect.fnUntraced(function* (delegation: Delegation, turn: Turn) {
      const accepted = (yield* turnResults.newestOf(turn.session_id))?.result
      if (accepted != null) return accepted
      const summary = delegation.result_schema === null ? yield* lastText(turn) : undefined
      return summary === undefined ? undefined : { summary, value: null }
    })

    const succeeded = Effect.fnUntraced(function* (delegation: Delegation, turn: Turn, actor: Actor) {
      const result = yield* resultOf(delegation, turn)
      if (result === undefined) {
        if (delegation.state === "active") yield* store.move(delegation.id, "waiting_result", actor)
        return
      }
      const changeset = yield* changesets.newestSealed(turn.session_id)
      const changed = changeset?.source_turn_id === turn.id && !changeset.empty ? changeset.id : null
      const content = { kind: "generic" as const, verdict: null, ...result, changeset_id: changed }
      yield* results.publish(delegation, content, actor)
    })

    const tellAsking = yield* makeTellAsking

    const turnMoved = Effect.fnUntraced(function* (turn: Turn, actor: Actor, from: TurnState) {
      if (turn.state === "cancelling" || turn.state === "cancelled") yield* endings.cancelOfTurn(turn, actor)
      if (turn.state === askingTurnState) yield* tellAsking("delegation.action_required", turn, actor)
      else if (from === askingTurnState) yield* tellAsking("delegation.action_resolved", turn, actor)
      const child = yield* sessions.find(turn.session_id)
      if (child === undefined || child.lineage.parent_delegation_id === null) return
      const delegation = yield* store.find(child.lineage.parent_delegation_id)
      if (delegation === undefined || delegationStates.isTerminal(delegation.state)) return
      if (turn.state === "running" && delegation.state === "pending") {
        yield* store.move(delegation.id, "active", actor)
      }
      if (!turnStates.isTerminal(turn.state)) return
      if (child.turns.queued > 0 && turn.state !== "interrupted") return
      if (turn.state === "succeeded") return yield* succeeded(delegation, turn, actor)
      if (delegation.state === "waiting_result") return
      const { reason, to } = endOf[turn.state === "cancelled" || turn.state === "interrupted" ? turn.state : "failed"]
      yield* store.move(delegation.id, to, actor, { reason, message: messageOf(turn) })
    })

    yield* listeners.register({ turnMoved, closing: endings.cancelOf })
  })
)

/** Gives the function that tells all sessions above of a turn that begins or ends to wait for a person. */
const makeTellAsking = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const store = yield* DelegationStore
  return Effect.fnUntraced(function* (
    type: "delegation.action_required" | "delegation.action_resolved",
    turn: Turn,
    actor: Actor
  ) {
    for (let below = yield* sessions.find(turn.session_id); below !== undefined; ) {
      const { parent_delegation_id } = below.lineage
      const delegation = parent_delegation_id === null ? undefined : yield* store.find(parent_delegation_id)
      if (delegation === undefined) return
      const { child_session_id, role } = delegation
      const payload = { role, child_session_id, asking_session_id: turn.session_id, asking_turn_id: turn.id }
      yield* store.tell(delegation, actor, { type, payload })
      below = yield* sessions.find(delegation.session_id)
    }
  })
})

const endOf = {
  failed: { to: "failed", reason: "turn_failed" },
  interrupted: { to: "failed", reason: "turn_interrupted" },
  cancelled: { to: "cancelled", reason: "turn_cancelled" }
} as const satisfies Record<string, { readonly to: "failed" | "cancelled"; readonly reason: DelegationReason }>

const messageOf = (turn: Turn): string =>
  `The turn of the child session ended ${turn.state}${turn.reason_message === null ? "." : `: ${turn.reason_message}`}`
