import { HttpApiGroup } from "@effect/platform"
import {
  extension,
  idPath,
  optional,
  patch,
  post,
  read,
  remove,
  SecretAnswer,
  withStatus
} from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { ProjectId } from "@reins/base/domain/Ids"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { GivenTimestamp } from "@reins/base/domain/Timestamp"
import { WebUrl } from "@reins/base/domain/WebUrl"
import { Schema } from "effect"
import {
  AttemptedWebhookDelivery,
  WebhookDelivery,
  WebhookDeliveryState,
  WebhookEndpoint,
  WebhookEndpointState,
  WebhookEndpointWithSecret,
  WebhookLabel,
  WebhookTypes
} from "./Webhook.js"

const Description = Schema.NullOr(Schema.String.pipe(Schema.maxLength(500)))
const absent = { exact: true } as const

const choices = {
  description: field(
    Schema.optionalWith(Description, absent),
    "What it is for, at most 500 characters; null for nothing."
  ),
  types: field(
    Schema.optionalWith(WebhookTypes, absent),
    "Only these types of events, as `turn.succeeded`, or of a whole resource, as `turn.*`; null for all."
  ),
  project_id: field(
    Schema.optionalWith(Schema.NullOr(ProjectId), absent),
    "Only events of the sessions of this project; null for all."
  ),
  label: field(
    Schema.optionalWith(Schema.NullOr(WebhookLabel), absent),
    "Only events of sessions that have this label when it is looked for, as `name=value`, and every `session.updated`; null for all."
  )
}

export const WebhookEndpointInput = Schema.Struct({
  url: field(WebUrl, "Where deliveries are to be sent: `https`, and a host that the installation may call."),
  ...choices
}).annotations({ identifier: "WebhookEndpointInput", description: "An endpoint to be." })
export type WebhookEndpointInput = typeof WebhookEndpointInput.Type

export const WebhookEndpointPatch = Schema.Struct({
  url: field(Schema.optionalWith(WebUrl, absent), "Where deliveries are sent from now on."),
  ...choices,
  state: field(
    Schema.optionalWith(WebhookEndpointState, absent),
    "`disabled` stops its deliveries, and `enabled` goes on with what has waited."
  )
}).annotations({
  identifier: "WebhookEndpointPatch",
  description: "What is to change. Absent fields stay as they are."
})
export type WebhookEndpointPatch = typeof WebhookEndpointPatch.Type

export const SecretRotationInput = Schema.Struct({
  overlap_seconds: field(
    Schema.optionalWith(Schema.Int.pipe(Schema.between(0, 604_800)), absent),
    "How long deliveries are signed with the secret before too; a day when absent, 0 to end it at once, a week at most."
  )
}).annotations({ identifier: "SecretRotationInput", description: "How the secret of an endpoint is replaced." })
export type SecretRotationInput = typeof SecretRotationInput.Type

export const WebhookRetryInput = Schema.Struct({
  since: field(
    GivenTimestamp,
    "Only deliveries that were made at this time or later. They are kept for 30 days after their end."
  ),
  until: field(
    optional(GivenTimestamp),
    "Only deliveries that were made before this time; all since then when absent."
  ),
  state: field(
    optional(Schema.Literal("failed", "succeeded")),
    "Only deliveries that ended like this: `failed` when absent; `succeeded` for a receiver that has lost what it was sent."
  )
}).annotations({ identifier: "WebhookRetryInput", description: "The deliveries that are to be made again." })
export type WebhookRetryInput = typeof WebhookRetryInput.Type

export const WebhookRetries = Schema.Struct({
  count: field(Schema.Int, "The number of deliveries that are made again.")
}).annotations({ identifier: "WebhookRetries", description: "The deliveries that are made again." })
export type WebhookRetries = typeof WebhookRetries.Type

const endpoint = idPath("webhook_endpoint_id")
const delivery = idPath("webhook_delivery_id")

export class WebhooksApi extends HttpApiGroup.make("webhooks")
  .add(
    read("listEndpoints", "/api/workspaces/:workspace_id/webhook-endpoints", "List the webhook endpoints", "admin")
      .setPath(idPath("workspace_id"))
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("WebhookEndpointList", WebhookEndpoint))
      .annotateContext(extension)
  )
  .add(
    post("createEndpoint", "/api/workspaces/:workspace_id/webhook-endpoints", "Make a webhook endpoint", "admin")
      .setPath(idPath("workspace_id"))
      .setPayload(WebhookEndpointInput)
      .addSuccess(withStatus(WebhookEndpointWithSecret, 201))
      .annotateContext(extension)
      .annotate(SecretAnswer, true)
  )
  .add(
    read("getEndpoint", "/api/webhook-endpoints/:webhook_endpoint_id", "Read a webhook endpoint", "admin")
      .setPath(endpoint)
      .addSuccess(WebhookEndpoint)
      .annotateContext(extension)
  )
  .add(
    patch("updateEndpoint", "/api/webhook-endpoints/:webhook_endpoint_id", "Change a webhook endpoint", "admin")
      .setPath(endpoint)
      .setPayload(WebhookEndpointPatch)
      .addSuccess(WebhookEndpoint)
      .annotateContext(extension)
  )
  .add(
    remove("removeEndpoint", "/api/webhook-endpoints/:webhook_endpoint_id", "Remove a webhook endpoint", "admin")
      .setPath(endpoint)
      .addSuccess(WebhookEndpoint)
      .annotateContext(extension)
  )
  .add(
    post(
      "rotateSecret",
      "/api/webhook-endpoints/:webhook_endpoint_id/secret-rotations",
      "Replace the secret that signs deliveries",
      "admin"
    )
      .setPath(endpoint)
      .setPayload(SecretRotationInput)
      .addSuccess(WebhookEndpointWithSecret)
      .annotateContext(extension)
      .annotate(SecretAnswer, true)
  )
  .add(
    post("sendTest", "/api/webhook-endpoints/:webhook_endpoint_id/tests", "Send a test to an endpoint", "admin")
      .setPath(endpoint)
      .addSuccess(withStatus(WebhookDelivery, 202))
      .annotateContext(extension)
  )
  .add(
    post(
      "retryDeliveries",
      "/api/webhook-endpoints/:webhook_endpoint_id/retries",
      "Deliver again what has failed in a time, or what has got through",
      "admin"
    )
      .setPath(endpoint)
      .setPayload(WebhookRetryInput)
      .addSuccess(withStatus(WebhookRetries, 202))
      .annotateContext(extension)
  )
  .add(
    read(
      "listDeliveries",
      "/api/webhook-endpoints/:webhook_endpoint_id/deliveries",
      "List the deliveries of an endpoint, newest first",
      "admin"
    )
      .setPath(endpoint)
      .setUrlParams(Schema.Struct({ ...pageFields, state: Schema.optionalWith(WebhookDeliveryState, absent) }))
      .addSuccess(Page("WebhookDeliveryList", WebhookDelivery))
      .annotateContext(extension)
  )
  .add(
    read("getDelivery", "/api/webhook-deliveries/:webhook_delivery_id", "Read a delivery with its attempts", "admin")
      .setPath(delivery)
      .addSuccess(AttemptedWebhookDelivery)
      .annotateContext(extension)
  )
  .add(
    post(
      "retryDelivery",
      "/api/webhook-deliveries/:webhook_delivery_id/retries",
      "Deliver again, or try a delivery that waits at once",
      "admin"
    )
      .setPath(delivery)
      .addSuccess(withStatus(WebhookDelivery, 202))
      .annotateContext(extension)
  ) {}
