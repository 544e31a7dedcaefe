import { eventKinds, type PayloadsOf } from "@reins/base/domain/Event"
import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"
import { DeliveryReason, DeliveryState, DeliveryStep } from "./Delivery.js"

const DeliveryPayload = Schema.Struct({
  state: field(DeliveryState, "Where the delivery stands."),
  reason: field(Schema.NullOr(DeliveryReason), "Why it failed or is blocked; null otherwise."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  ),
  target_ref: field(Schema.String, "The branch, without `refs/heads/`."),
  commit: field(Schema.NullOr(Schema.String), "The commit that was made for the changeset; null until then."),
  step: field(Schema.NullOr(DeliveryStep), "The step that was made; null when the event is no step.")
}).annotations({ identifier: "DeliveryPayload", description: "A delivery after what happened to it." })

/** The events of deliveries. */
export const deliveryEvents = eventKinds({
  "delivery.requested": { payload: DeliveryPayload, text: "A delivery waits for its worker, at first or again." },
  "delivery.progressed": {
    payload: DeliveryPayload,
    text: "The delivery is being made. `step` is what was just done."
  },
  "delivery.succeeded": { payload: DeliveryPayload, text: "The branch is on the remote, or the patch is made." },
  "delivery.failed": { payload: DeliveryPayload, text: "The delivery failed, and can be retried." },
  "delivery.blocked": {
    payload: DeliveryPayload,
    text: "The delivery waits for somebody to mend its `reason`. A retry or a refresh makes it go on."
  },
  "delivery.cancelled": { payload: DeliveryPayload, text: "The delivery was stopped before it pushed." }
})

declare module "@reins/base/domain/Event" {
  interface EventPayloads extends PayloadsOf<typeof deliveryEvents> {}
}
