import type { Actor } from "@reins/base/domain/Event"
import { now } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { interactionTopic } from "../../store/Bell.js"
import { Database } from "../../store/Database.js"
import { existingOf } from "../../store/Existing.js"
import { Journal } from "../../store/Journal.js"
import { type Interaction, type InteractionState, interactionStates } from "../rows/Interaction.js"
import { askingTurnState, isStarted } from "../rows/Turn.js"
import { actionEvent } from "../turns/TurnRow.js"
import { TurnStore } from "../turns/TurnStore.js"
import { interactionRows } from "./InteractionRows.js"

/** The answer that ends an interaction. */
export type GivenAnswer = Pick<Interaction, "answer" | "note" | "content" | "result" | "blocks" | "is_error">

export const nothing: GivenAnswer = {
  answer: null,
  note: null,
  content: null,
  result: null,
  blocks: null,
  is_error: false
}

/** A question whose call has changed. */
export type RevisedQuestion = Pick<Interaction, "title" | "description" | "subject">

/** An end of an interaction. */
export type Resolution = Exclude<InteractionState, "pending">

/** The end of an interaction, and the word of it to the turn and its readers. */
export const makeResolve = Effect.gen(function* () {
  const db = yield* Database
  const journal = yield* Journal
  const turns = yield* TurnStore
  const rows = yield* interactionRows

  /** Tells a question or its end. The turn moves when it begins to wait, and when it has waited for the last answer. */
  const tell = Effect.fnUntraced(function* (interaction: Interaction, actor: Actor) {
    const turn = yield* existingOf("turn", turns.find)(interaction.turn_id)
    const to = (yield* rows.pendingOf(turn.id)).length > 0 ? askingTurnState : "running"
    if (isStarted(turn.state) && turn.state !== to) {
      yield* turns.move(turn.id, to, actor, { interaction })
    } else {
      const subjects = { turn_id: turn.id }
      yield* journal.append(turn.session_id, actor, [{ ...actionEvent(turn, interaction), subjects }])
    }
  })

  const resolve = Effect.fnUntraced(function* (
    interaction: Interaction,
    to: Resolution,
    given: GivenAnswer,
    actor: Actor
  ) {
    yield* Effect.orDie(interactionStates.check(interaction.state, to))
    const resolved: Interaction = { ...interaction, ...given, state: to, resolved_at: yield* now }
    const values = given.content ?? given.blocks
    const content = values === null ? null : JSON.stringify(values)
    const result = given.result === null ? null : JSON.stringify(given.result)
    yield* db.run(db.sql`update interactions set state = ${to}, answer = ${given.answer}, note = ${given.note},
      content = ${content}, result = ${result}, is_error = ${given.is_error ? 1 : 0}, resolved_at = ${resolved.resolved_at} where id = ${interaction.id}`)
    yield* journal.ringAfterCommit(interactionTopic(interaction.id))
    yield* tell(resolved, actor)
    return resolved
  })

  /** Tells of a call that its agent has changed. The commit holds the session. */
  const revise = Effect.fnUntraced(function* (interaction: Interaction, to: RevisedQuestion, actor: Actor) {
    const { description, subject, title } = to
    const revised: Interaction = { ...interaction, title, description, subject }
    yield* db.run(db.sql`update interactions set title = ${title}, description = ${description},
      subject = ${JSON.stringify(subject)} where id = ${interaction.id}`)
    const turn = yield* existingOf("turn", turns.find)(interaction.turn_id)
    yield* journal.append(turn.session_id, actor, [
      { type: "turn.action_changed", payload: { turn, interaction: revised }, subjects: { turn_id: turn.id } }
    ])
  })

  return { resolve, revise, tell }
})
