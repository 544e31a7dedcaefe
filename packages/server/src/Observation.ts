import { type Observations, Observer } from "@reins/base/base/Observer"
import { toMillis } from "@reins/base/domain/Timestamp"
import { Effect, Layer } from "effect"
import * as Figures from "./Figures.js"

/** The label of what has no reason. */
const none = "none"

const count = (counter: ReturnType<typeof Figures.turnsEnded>, by = 1): void => counter.unsafeUpdate(by, [])

const observations: Observations = {
  turnBegun: ({ settings: { provider_id: provider } }, waitedMs) =>
    Effect.sync(() => Figures.turnWait({ provider }).unsafeUpdate(Math.max(0, waitedMs) / 1000, [])),
  turnEnded: (turn) => {
    const { finished_at: finishedAt, reason, started_at: startedAt, state, usage } = turn
    const { model, provider_id: provider } = turn.settings
    const ms = startedAt === null || finishedAt === null ? null : toMillis(finishedAt) - toMillis(startedAt)
    const figures = Effect.sync(() => {
      count(Figures.turnsEnded({ provider, state, reason: reason ?? none }))
      if (ms !== null) Figures.turnDuration({ provider, state }).unsafeUpdate(Math.max(0, ms) / 1000, [])
      count(Figures.tokens({ provider, kind: "input" }), usage.input_tokens ?? 0)
      count(Figures.tokens({ provider, kind: "output" }), usage.output_tokens ?? 0)
      count(Figures.tokens({ provider, kind: "cached" }), usage.cached_tokens ?? 0)
      count(Figures.tokens({ provider, kind: "reasoning" }), usage.reasoning_tokens ?? 0)
    })
    return Effect.zipRight(
      figures,
      line("turn ended", { turn_id: turn.id, session_id: turn.session_id, provider, model, state, reason, ms })
    )
  },
  deliveryEnded: ({ changeset_id, id, reason, session_id, state, transport }) =>
    Effect.zipRight(
      Effect.sync(() => count(Figures.deliveriesEnded({ transport, state, reason: reason ?? none }))),
      line("delivery ended", { delivery_id: id, changeset_id, session_id, transport, state, reason })
    ),
  jobEnded: ({ attempt, error, jobId, kind, state, subject }) =>
    Effect.zipRight(
      Effect.sync(() =>
        state === "retry_wait" ? count(Figures.attemptsRetried({ kind })) : count(Figures.jobsEnded({ kind, state }))
      ),
      line(state === "retry_wait" ? "job is tried again" : "job ended", {
        job_id: jobId,
        kind,
        subject: subject.id,
        state,
        attempt,
        reason: error?.code ?? null
      })
    ),
  agentTaken: (provider, start) => Effect.sync(() => count(Figures.agentsTaken({ provider, start }))),
  agentsKept: (agents) => Effect.sync(() => Figures.agentsKept.unsafeUpdate(agents, [])),
  webhookAttempted: ({ durationMs, state, status }) =>
    Effect.sync(() => {
      count(Figures.webhookAttempts({ state, status: status === null ? none : `${Math.floor(status / 100)}xx` }))
      Figures.webhookDuration.unsafeUpdate(Math.max(0, durationMs) / 1000, [])
    }),
  webhookDisabled: (webhook_endpoint_id, reason) =>
    Effect.zipRight(
      Effect.sync(() => count(Figures.webhooksDisabled({ reason }))),
      Effect.annotateLogs(Effect.logWarning("a webhook endpoint was disabled"), { webhook_endpoint_id, reason })
    )
}

/** A line holds ids and closed words only: the sentence of a reason may repeat what an agent or a remote has said. */
const line = (message: string, fields: Readonly<Record<string, string | number | null>>): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logInfo(message), fields)

/**
 * Logs a line for each end of a turn, a delivery and a job, and counts them. A core takes it when its layer is built:
 *
 *     HttpServer.layer({ metrics: true }).pipe(
 *       Layer.provideMerge(Embedded.layer({ dataDir: "./reins-data" })),
 *       Layer.provide(Observation.layer)
 *     )
 */
export const layer: Layer.Layer<Observer> = Layer.succeed(Observer, observations)
