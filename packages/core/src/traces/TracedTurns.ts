import type { AgentTracing, TurnPlace } from "@reins/base/base/AgentTraces"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Cause, Effect, Layer, Option } from "effect"
import { JobStore } from "../jobs/JobStore.js"
import { SessionListeners } from "../sessions/rows/SessionListeners.js"
import { type Turn, turnStates } from "../sessions/rows/Turn.js"
import { turnJobKind } from "../sessions/turns/TurnQueue.js"
import { modelCallStore } from "../sessions/usage/ModelCallStore.js"
import { logDefect } from "../store/FailedStatement.js"
import { Journal } from "../store/Journal.js"

/** Tells the traces of agents of each turn that ends, from its row. So it is told also when another process has run the agent, or has died. */
export const layerOf = (traces: AgentTracing) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const journal = yield* Journal
      const listeners = yield* SessionListeners
      const tellOf = yield* makeTell
      const tell = (turn: Turn) =>
        Effect.catchAllCause(tellOf(traces, turn), (cause) =>
          logDefect("the trace of a turn is not sent", Cause.squash(cause))
        )
      yield* listeners.register({
        turnMoved: (turn) => (turnStates.isTerminal(turn.state) ? journal.afterCommit(tell(turn)) : Effect.void)
      })
    })
  )

const makeTell = Effect.gen(function* () {
  const jobs = yield* JobStore
  const manifests = yield* Manifests
  const calls = yield* modelCallStore

  const placeOf = Effect.fnUntraced(function* (turnId: Turn["id"], sessionId: Turn["session_id"]) {
    const place = yield* jobs.placeOf(turnJobKind, turnId)
    return place && ({ turnId, sessionId, within: place.within } satisfies TurnPlace)
  })

  return Effect.fnUntraced(function* (traces: AgentTracing, turn: Turn) {
    const place = yield* placeOf(turn.id, turn.session_id)
    if (place === undefined || turn.finished_at === null) return
    const { retry_of_turn_id: retried } = turn
    const retryOf = retried === null ? undefined : yield* placeOf(retried, turn.session_id)
    const { model, provider_id: id } = turn.settings
    const manifest = Option.getOrUndefined(yield* Effect.option(manifests.get(id)))
    traces.turnEnded({
      ...place,
      state: turn.state,
      reason: turn.reason,
      agent: {
        id,
        name: manifest?.display_name ?? null,
        version: manifest?.runtime?.agent.version ?? null
      },
      model,
      protocol: (yield* calls.protocolOf(turn.id)) ?? null,
      usage: turn.usage,
      startedAt: turn.started_at,
      finishedAt: turn.finished_at,
      ...(retryOf && { retryOf })
    })
  })
})
