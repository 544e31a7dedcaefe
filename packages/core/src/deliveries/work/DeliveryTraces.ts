import { AgentTraces } from "@reins/base/base/AgentTraces"
import { Effect } from "effect"
import type { AttemptLost, Completion, JobError } from "../../jobs/JobKind.js"
import { JobStore } from "../../jobs/JobStore.js"
import { turnJobKind } from "../../sessions/turns/TurnQueue.js"
import type { DeliveryAttempt } from "./DeliverySteps.js"

/** Gives the function that makes an attempt at a delivery a part of a trace, which leads to the turn whose work is delivered. */
export const deliveryTraces = Effect.gen(function* () {
  const traces = yield* AgentTraces
  const jobs = yield* JobStore

  return (
    { changeset, delivery, session }: DeliveryAttempt,
    work: Effect.Effect<Completion, JobError | AttemptLost>
  ) => {
    if (traces === undefined) return work
    const turnId = changeset.source_turn_id
    const place = turnId === null ? Effect.succeed(undefined) : jobs.placeOf(turnJobKind, turnId)
    return Effect.flatMap(place, (found) =>
      traces.delivery(
        {
          id: delivery.id,
          changesetId: changeset.id,
          sessionId: session.id,
          transport: delivery.transport,
          turn: found && turnId !== null ? { turnId, sessionId: session.id, within: found.within } : undefined
        },
        {
          work,
          problemOf: (completion) => (completion.state === "failed" ? completion.failure.code : undefined)
        }
      )
    )
  }
})
