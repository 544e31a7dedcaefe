import { field } from "@reins/base/domain/Field"
import {
  EventId,
  ProjectId,
  SessionId,
  WebhookDeliveryId,
  WebhookEndpointId,
  WorkspaceId
} from "@reins/base/domain/Ids"
import { installed } from "@reins/base/domain/Installed"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { WebUrl } from "@reins/base/domain/WebUrl"
import { Schema } from "effect"

/** The events that an endpoint wants. Null for every type of the stream of a workspace. */
export const WebhookTypes = Schema.NullOr(Schema.NonEmptyArray(installed("webhook_types")).pipe(Schema.maxItems(100)))

export const WebhookLabel = Schema.String.pipe(Schema.maxLength(1000), Schema.pattern(/^[^=]+=/))

export const WebhookEndpointState = Schema.Literal("enabled", "disabled")
export type WebhookEndpointState = typeof WebhookEndpointState.Type

/** `by_hand`: somebody turned it off. `gone`: it answered 410. `failing`: nothing got through for five days. */
export const WebhookDisabledReason = Schema.Literal("by_hand", "gone", "failing")
export type WebhookDisabledReason = typeof WebhookDisabledReason.Type

export const WebhookEndpoint = Schema.Struct({
  id: field(WebhookEndpointId, "The id of the endpoint."),
  workspace_id: field(WorkspaceId, "The workspace whose events it gets."),
  url: field(WebUrl, "Where deliveries are sent."),
  description: field(Schema.NullOr(Schema.String), "What it is for, in your words; null for none."),
  types: field(WebhookTypes, "The types of events that it gets; null for all that the stream of the workspace has."),
  project_id: field(Schema.NullOr(ProjectId), "Only events of the sessions of this project; null for all."),
  label: field(
    Schema.NullOr(WebhookLabel),
    "Only events of sessions that have this label, as `name=value`, and every `session.updated`; null for all."
  ),
  state: field(WebhookEndpointState, "A disabled endpoint is sent nothing. What comes meanwhile waits for it."),
  disabled_reason: field(
    Schema.NullOr(WebhookDisabledReason),
    "`by_hand`: somebody turned it off. `gone`: it answered 410. `failing`: nothing got through for five days. Null while it is enabled."
  ),
  failing_since: field(
    Schema.NullOr(Timestamp),
    "The first of the failures since the last delivery that got through; null when that one was the last."
  ),
  position: field(Schema.Int, "The position in the stream of the workspace up to which its deliveries are made."),
  paused_until: field(
    Schema.NullOr(Timestamp),
    "Until then it is sent nothing, because it has answered 429 or 503 with a `Retry-After`; null when it is not paused."
  ),
  pending: field(Schema.Int, "The number of deliveries that are still to get through."),
  secret_overlaps_until: field(
    Schema.NullOr(Timestamp),
    "Until then deliveries are signed with the secret before the last rotation too; null when they are not."
  ),
  created_at: field(Timestamp, "The time at which it was made."),
  updated_at: field(Timestamp, "The time of its last change by a caller.")
}).annotations({ identifier: "WebhookEndpoint", description: "A place to which the events of a workspace are sent." })
export type WebhookEndpoint = typeof WebhookEndpoint.Type

export const WebhookEndpointWithSecret = Schema.Struct({
  ...WebhookEndpoint.fields,
  secret: field(Schema.String, "The secret that signs its deliveries, as `whsec_...`. It is shown this once.")
}).annotations({ identifier: "WebhookEndpointWithSecret", description: "An endpoint with its new secret." })
export type WebhookEndpointWithSecret = typeof WebhookEndpointWithSecret.Type

export const WebhookDeliveryState = Schema.Literal("pending", "succeeded", "failed")
export type WebhookDeliveryState = typeof WebhookDeliveryState.Type

export const WebhookDelivery = Schema.Struct({
  id: field(WebhookDeliveryId, "The id of the delivery."),
  endpoint_id: field(WebhookEndpointId, "The endpoint that it goes to."),
  event_id: field(EventId, "The event that it tells of. It is the `webhook-id` of every attempt."),
  type: field(Schema.String, "The type of the event; `webhook.test` for a test."),
  session_id: field(Schema.NullOr(SessionId), "The session of the event; null for a test."),
  seq: field(Schema.NullOr(Schema.Int), "The `seq` of the event in its session; null for a test."),
  position: field(
    Schema.NullOr(Schema.Int),
    "The position of the event in the stream of the workspace; null for a test."
  ),
  state: field(
    WebhookDeliveryState,
    "`failed` when its attempts are used up, or its event is no longer kept. A test has one attempt."
  ),
  attempt_count: field(Schema.Int, "The number of attempts so far."),
  retry_at: field(Schema.NullOr(Timestamp), "The time of the next attempt after a failure; null when there is none."),
  created_at: field(Timestamp, "The time at which it was made."),
  finished_at: field(Schema.NullOr(Timestamp), "The time of its end; null while it is pending.")
}).annotations({ identifier: "WebhookDelivery", description: "An event on its way to an endpoint." })
export type WebhookDelivery = typeof WebhookDelivery.Type

export const WebhookAttempt = Schema.Struct({
  ordinal: field(Schema.Int, "Counts the attempts of the delivery from 1."),
  started_at: field(Timestamp, "The time at which it was sent."),
  duration_ms: field(Schema.Int, "The milliseconds until the answer or the failure."),
  status: field(Schema.NullOr(Schema.Int), "The status of the answer; null when there was none."),
  error: field(Schema.NullOr(Schema.String), "Why it failed, as a sentence; null when it got through."),
  answer: field(Schema.NullOr(Schema.String), "The first 1,000 characters of the answer; null when there was none.")
}).annotations({ identifier: "WebhookAttempt", description: "One try to deliver." })
export type WebhookAttempt = typeof WebhookAttempt.Type

export const AttemptedWebhookDelivery = Schema.Struct({
  ...WebhookDelivery.fields,
  attempts: field(Schema.Array(WebhookAttempt), "The newest 50 attempts, in their order.")
}).annotations({ identifier: "AttemptedWebhookDelivery", description: "A delivery with its attempts." })
export type AttemptedWebhookDelivery = typeof AttemptedWebhookDelivery.Type

/** The type of a test, which is no event of a session. */
export const webhookTest = "webhook.test"
