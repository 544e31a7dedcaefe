import { Schema } from "effect"
import { ChangesetId, ConnectionId, DeliveryId, SessionId } from "./Ids.js"
import { DeliveryTransport } from "./Project.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

/** `blocked`: a person has to decide or mend something before another try. */
export const DeliveryState = Schema.Literal("pending", "executing", "succeeded", "failed", "blocked", "cancelled")
export type DeliveryState = typeof DeliveryState.Type

/** The moves of a delivery. */
export const deliveryStates = /* @__PURE__ */ StateMachine.make<DeliveryState>("delivery", {
  pending: ["executing"],
  executing: ["succeeded", "failed", "blocked", "cancelled"],
  succeeded: [],
  failed: ["pending"],
  blocked: ["executing"],
  cancelled: []
})

/** The reasons for which a delivery is blocked or fails. */
export const DeliveryReason = Schema.Literal(
  "remote_head_changed",
  "auth_required",
  "branch_protected",
  "remote_unavailable",
  "empty_changeset"
)
export type DeliveryReason = typeof DeliveryReason.Type

/** One step of a delivery. Steps are kept in the order in which they happened, and are only ever added. */
export const DeliveryStep = Schema.Struct({
  kind: Schema.Literal("materialize", "push", "observe"),
  outcome: Schema.Literal("succeeded", "failed"),
  attempt: Schema.Int,
  detail: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  recorded_at: Timestamp
}).annotations({ identifier: "DeliveryStep" })
export type DeliveryStep = typeof DeliveryStep.Type

/** `fast_forward` only moves a branch forward. `force_with_lease` replaces exactly the head that was last seen. */
export const UpdateStrategy = Schema.Literal("fast_forward", "force_with_lease")
export type UpdateStrategy = typeof UpdateStrategy.Type

/** A sealed changeset on its way out: as a patch, or as a branch of the repository. */
export const Delivery = Schema.Struct({
  id: DeliveryId,
  changeset_id: ChangesetId,
  session_id: SessionId,
  transport: DeliveryTransport,
  connection_id: Schema.NullOr(ConnectionId),
  target_ref: Schema.String,
  title: Schema.NullOr(Schema.String),
  update_strategy: UpdateStrategy,
  state: DeliveryState,
  reason: Schema.NullOr(DeliveryReason),
  reason_message: Schema.NullOr(Schema.String),
  remote_url: Schema.NullOr(Schema.String),
  commit: Schema.NullOr(Schema.String),
  observed_head: Schema.NullOr(Schema.String),
  /** The text of the patch, with the transport `patch`. */
  patch: Schema.NullOr(Schema.String),
  steps: Schema.Array(DeliveryStep),
  version: Schema.Int,
  created_at: Timestamp,
  updated_at: Timestamp
})
export type Delivery = typeof Delivery.Type

/** The commands on a delivery that its caller can give. */
export const DeliveryAction = Schema.Literal("cancel", "open_merge_request", "refresh", "retry")
export type DeliveryAction = typeof DeliveryAction.Type

/** A delivery as clients read it, with what they can do with it. */
export const ActionableDelivery = Schema.Struct({
  ...Delivery.fields,
  actions: Schema.Array(DeliveryAction).annotations({
    description:
      "What the caller can do with the delivery now: its state, the role and the scope of the credentials allow it. A merge request also needs a " +
      "connection to the forge. Empty for credentials that may only read."
  })
}).annotations({ identifier: "Delivery" })
export type ActionableDelivery = typeof ActionableDelivery.Type
