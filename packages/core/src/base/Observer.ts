import { Context, Effect } from "effect"
import type { Delivery } from "../domain/Delivery.js"
import type { WebhookEndpointId } from "../domain/Ids.js"
import type { JobFailure, JobState, Subject } from "../domain/Job.js"
import type { Turn } from "../domain/Turn.js"
import type { WebhookDelivery, WebhookDisabledReason } from "../domain/Webhook.js"

/** The end of a job, or of an attempt after which it waits for the next one (`retry_wait`). */
export interface JobEnd {
  readonly jobId: string
  readonly kind: string
  readonly subject: Subject
  readonly state: Exclude<JobState, "queued" | "running">
  /** The ordinal of its last attempt; 0 for a job that was cancelled before the first one. */
  readonly attempt: number
  /** Null for a job that succeeded. */
  readonly error: JobFailure | null
}

/** The end of an attempt to deliver an event to a webhook endpoint. */
export interface WebhookAttemptEnd {
  /** The state of the delivery after it: `pending` when it is attempted again. */
  readonly state: WebhookDelivery["state"]
  /** The status of the answer; null when there was none. */
  readonly status: number | null
  readonly durationMs: number
}

/**
 * Hears what has begun and ended in this process, once the commit that says so is through, for logs and figures. Nothing is promised of what a
 * process that is killed had still to tell. What an observer does must be short and must not fail, because the caller of the commit waits for it.
 */
export class Observer extends Context.Reference<Observer>()("@reins/core/base/Observer", {
  defaultValue: (): Observations => ({
    turnBegun: () => Effect.void,
    turnEnded: () => Effect.void,
    deliveryEnded: () => Effect.void,
    jobEnded: () => Effect.void,
    agentTaken: () => Effect.void,
    agentsKept: () => Effect.void,
    webhookAttempted: () => Effect.void,
    webhookDisabled: () => Effect.void
  })
}) {}

/** The reaction of an observer to each event. */
export interface Observations {
  /** A turn has left the queue, so many milliseconds after it came in. */
  readonly turnBegun: (turn: Turn, waitedMs: number) => Effect.Effect<void>
  readonly turnEnded: (turn: Turn) => Effect.Effect<void>
  /** A delivery is through, has failed, was cancelled, or waits for a person (`blocked`). */
  readonly deliveryEnded: (delivery: Delivery) => Effect.Effect<void>
  readonly jobEnded: (end: JobEnd) => Effect.Effect<void>
  /** A turn of a provider begins on an agent that was kept or prepared for it (`warm`), or on one that it has to start (`cold`). */
  readonly agentTaken: (providerId: string, start: "warm" | "cold") => Effect.Effect<void>
  /** So many agents of this process are ready for a turn of their session. */
  readonly agentsKept: (count: number) => Effect.Effect<void>
  readonly webhookAttempted: (end: WebhookAttemptEnd) => Effect.Effect<void>
  /** An endpoint is sent nothing more: it answered 410 (`gone`), or nothing has got through for days (`failing`). */
  readonly webhookDisabled: (endpointId: WebhookEndpointId, reason: WebhookDisabledReason) => Effect.Effect<void>
}
