import { Context, Effect } from "effect"
import type { ChangesetId, DeliveryId, SessionId, TurnId, WebhookEndpointId } from "../domain/Ids.js"
import type { Timestamp } from "../domain/Timestamp.js"

// Observers hear plain data. So every room can tell them something, and this file needs no room.

/** A turn that has left the queue, or has ended. */
export interface ObservedTurn {
  readonly id: TurnId
  readonly session_id: SessionId
  readonly state: string
  /** Null for a turn that needs none. */
  readonly reason: string | null
  readonly settings: { readonly provider_id: string; readonly model: string | null }
  readonly usage: {
    readonly input_tokens: number | null
    readonly output_tokens: number | null
    readonly cached_tokens: number | null
    readonly reasoning_tokens: number | null
  }
  readonly started_at: Timestamp | null
  readonly finished_at: Timestamp | null
}

/** A delivery that is through, has failed, was cancelled, or waits for a person (`blocked`). */
export interface ObservedDelivery {
  readonly id: DeliveryId
  readonly session_id: SessionId
  readonly changeset_id: ChangesetId
  readonly transport: string
  readonly state: string
  /** Null for a delivery that needs none. */
  readonly reason: string | null
}

/** The end of a job, or of an attempt after which it waits for the next one (`retry_wait`). */
export interface JobEnd {
  readonly jobId: string
  readonly kind: string
  readonly subject: { readonly type: string; readonly id: string }
  readonly state: "succeeded" | "failed" | "cancelled" | "retry_wait"
  /** The ordinal of its last attempt; 0 for a job that was cancelled before the first one. */
  readonly attempt: number
  /** Null for a job that succeeded. */
  readonly error: { readonly code: string; readonly message: string; readonly retryable: boolean } | null
}

/** The end of an attempt to deliver an event to a webhook endpoint. */
export interface WebhookAttemptEnd {
  /** The state of the delivery after it: `pending` when it is attempted again. */
  readonly state: string
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
  readonly turnBegun: (turn: ObservedTurn, waitedMs: number) => Effect.Effect<void>
  readonly turnEnded: (turn: ObservedTurn) => Effect.Effect<void>
  readonly deliveryEnded: (delivery: ObservedDelivery) => Effect.Effect<void>
  readonly jobEnded: (end: JobEnd) => Effect.Effect<void>
  /** A turn of a provider begins on an agent that was kept or prepared for it (`warm`), or on one that it has to start (`cold`). */
  readonly agentTaken: (providerId: string, start: "warm" | "cold") => Effect.Effect<void>
  /** So many agents of this process are ready for a turn of their session. */
  readonly agentsKept: (count: number) => Effect.Effect<void>
  readonly webhookAttempted: (end: WebhookAttemptEnd) => Effect.Effect<void>
  /** An endpoint is sent nothing more: it answered 410 (`gone`), or nothing has got through for days (`failing`). */
  readonly webhookDisabled: (endpointId: WebhookEndpointId, reason: string) => Effect.Effect<void>
}
