import { Effect, Layer } from "effect"
import { ChangesetStore } from "../changes/ChangesetStore.js"
import type { Actor } from "../domain/Event.js"
import { MessageStore } from "../sessions/messages/MessageStore.js"
import { TurnResults } from "../sessions/results/TurnResults.js"
import { SessionListeners } from "../sessions/SessionListeners.js"
import { SessionStore } from "../sessions/SessionStore.js"
import { type Turn, turnStates } from "../sessions/Turn.js"
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

    const turnMoved = Effect.fnUntraced(function* (turn: Turn, actor: Actor) {
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

const endOf = {
  failed: { to: "failed", reason: "turn_failed" },
  interrupted: { to: "failed", reason: "turn_interrupted" },
  cancelled: { to: "cancelled", reason: "turn_cancelled" }
} as const satisfies Record<string, { readonly to: "failed" | "cancelled"; readonly reason: DelegationReason }>

const messageOf = (turn: Turn): string =>
  `The turn of the child session ended ${turn.state}${turn.reason_message === null ? "." : `: ${turn.reason_message}`}`
