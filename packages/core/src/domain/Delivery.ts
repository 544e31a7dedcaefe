import { Schema } from "effect"
import { ChangesetId, ConnectionId, DeliveryId, SessionId } from "./Ids.js"
import { DeliveryTransport } from "./Project.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

export const DeliveryState = Schema.Literal("pending", "executing", "succeeded", "failed", "blocked", "cancelled")
export type DeliveryState = typeof DeliveryState.Type

export const deliveryStates = StateMachine.make<DeliveryState>("delivery", {
  pending: ["executing"],
  executing: ["succeeded", "failed", "blocked", "cancelled"],
  succeeded: [],
  failed: ["pending"],
  blocked: ["executing"],
  cancelled: []
})

export const DeliveryReason = Schema.Literal(
  "remote_head_changed",
  "auth_required",
  "branch_protected",
  "remote_unavailable",
  "empty_changeset"
)
export type DeliveryReason = typeof DeliveryReason.Type

/** One step of a delivery. Steps are kept in the order in which they happened, and only ever added. */
export const DeliveryStep = Schema.Struct({
  kind: Schema.Literal("materialize", "push", "observe"),
  outcome: Schema.Literal("succeeded", "failed"),
  attempt: Schema.Int,
  detail: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  recorded_at: Timestamp
}).annotations({ identifier: "DeliveryStep" })
export type DeliveryStep = typeof DeliveryStep.Type

export const UpdateStrategy = Schema.Literal("fast_forward", "force_with_lease")
export type UpdateStrategy = typeof UpdateStrategy.Type

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
  /** The patch itself, for the transport `patch`. */
  patch: Schema.NullOr(Schema.String),
  steps: Schema.Array(DeliveryStep),
  version: Schema.Int,
  created_at: Timestamp,
  updated_at: Timestamp
}).annotations({ identifier: "Delivery" })
export type Delivery = typeof Delivery.Type
