import { Effect, Layer } from "effect"
import { systemActor } from "../access/Access.js"
import { JobStore } from "../jobs/JobStore.js"
import { SessionListeners } from "../sessions/rows/SessionListeners.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { type Turn, turnStates } from "../sessions/rows/Turn.js"
import { TurnStore } from "../sessions/turns/TurnStore.js"
import { automationRunStates } from "./AutomationRun.js"
import { AutomationStore } from "./AutomationStore.js"
import { makeDeliverLater } from "./RunDeliveries.js"
import { makeEndings } from "./RunEndings.js"
import { type RunRow, RunStore } from "./RunStore.js"

/** Lets runs follow their turns, in the commit that moves a turn. A run ends when its turn has ended. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const listeners = yield* SessionListeners
    const store = yield* AutomationStore
    const runs = yield* RunStore
    const jobs = yield* JobStore
    const endings = yield* makeEndings
    const deliverLater = yield* makeDeliverLater

    const turnMoved = Effect.fnUntraced(function* (turn: Turn) {
      const isEnd = turnStates.isTerminal(turn.state)
      if (turn.state !== "running" && !isEnd) return
      const run = yield* runs.ofTurn(turn.id)
      if (run === undefined || automationRunStates.isTerminal(run.state)) return
      if (!isEnd) {
        if (run.state === "waiting") yield* runs.move(run, "running")
        return
      }
      const held = yield* store.lock(run.automation_id)
      const { to, ...why } = endOf(run, turn)
      const ended = yield* runs.move(run, to, why)
      if (run.expiry_job_id !== null) yield* jobs.cancel(run.expiry_job_id)
      if (held === undefined) return
      yield* endings.count(held.row, ended)
      yield* endings.startNext(held.row)
      yield* deliverLater(held.row, ended)
    })

    yield* listeners.register({ turnMoved })
  })
)

const endOf = ({ has_expired }: RunRow, { reason, reason_message, state }: Turn) => {
  if (state === "succeeded") return { to: "succeeded" as const, reason: null, reason_message: null }
  if (has_expired === 1) return { to: "failed" as const, reason: "timeout", reason_message: expired }
  const to = state === "cancelled" ? ("cancelled" as const) : ("failed" as const)
  return { to, reason: reason ?? state, reason_message: reason_message ?? `Its turn ended ${state}.` }
}

const expired = "Its turn took longer than max_minutes, and was cancelled."

/** Gives the commit that cancels the turn of a run that has taken too long. One that has ended stays as it is. */
export const makeExpire = Effect.gen(function* () {
  const runs = yield* RunStore
  const sessions = yield* SessionStore
  const turns = yield* TurnStore
  const actor = systemActor("automations")

  return Effect.fnUntraced(function* (runId: string) {
    const found = yield* runs.find(runId)
    if (found?.session_id == null || found.turn_id === null) return
    yield* sessions.lock(found.session_id)
    const run = yield* runs.find(runId)
    if (run === undefined || automationRunStates.isTerminal(run.state)) return
    yield* runs.update(run.id, { has_expired: 1 })
    // A turn that has ended just now has ended its run too.
    yield* Effect.catchTag(turns.cancel(found.turn_id, actor), "ReinsError", () => Effect.void)
  })
})
