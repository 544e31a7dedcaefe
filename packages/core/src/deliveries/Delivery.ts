import { field } from "@reins/base/domain/Field"
import { GitIdentity } from "@reins/base/domain/GitIdentity"
import { ChangesetId, ConnectionId, DeliveryId, SessionId, SigningKeyId } from "@reins/base/domain/Ids"
import * as StateMachine from "@reins/base/domain/StateMachine"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { DeliveryObstacle, namesIn, obstacleReasons } from "@reins/machine/git/findings/Obstacle"
import { Schema } from "effect"
import { DeliveryTransport } from "../projects/Project.js"

export const DeliveryState = Schema.Literal(
  "pending",
  "executing",
  "succeeded",
  "failed",
  "blocked",
  "cancelled"
).annotations({ description: "`blocked`: a person has to decide or mend something before another try." })
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

/** The reasons for which a person has to decide or mend something before another try, each with its meaning. */
export const blockingReasons = {
  ...obstacleReasons,
  remote_head_changed: "the branch is not where it was last seen",
  signing_key_missing: "the project wants signed commits, and the workspace has no signing key",
  merge_conflict: "the changeset and commits on the branch have changed the same lines",
  branch_gone: "the branch that the commit should go onto is not on the remote",
  auth_required: "the remote refused the credential",
  branch_protected: "the remote protects the branch",
  rule_violated: "another rule of the remote refused the push",
  scope_missing: "the credential lacks a permission or scope",
  secret_found: "the remote found a secret in the commits",
  email_private: "the remote refused the e-mail address in the commits",
  branch_in_the_way: "another branch of the remote stands where the name needs a folder, or below the name",
  too_large: "the remote takes no push or file of that size",
  quota_exceeded: "the storage of the remote is used up",
  redirected: "the repository has moved to another address",
  repository_not_found: "the remote has no such repository, or the credential may not see it",
  rejected: "the remote refused in another way, which `reason_message` tells"
} as const

const passingReasons = {
  remote_unavailable: "the remote could not be reached",
  empty_changeset: "there is nothing to deliver"
} as const

const meanings = { ...blockingReasons, ...passingReasons }

export const DeliveryReason = Schema.Literal(...namesIn(meanings)).annotations({
  description: `${Object.entries(meanings)
    .map(([reason, meaning]) => `\`${reason}\`: ${meaning}.`)
    .join(" ")} Those of a remote come with its words in \`reason_message\`.`
})
export type DeliveryReason = typeof DeliveryReason.Type

export const DeliveryStep = Schema.Struct({
  kind: field(
    Schema.Literal("materialize", "push", "observe"),
    "`materialize` makes the commit or the patch, `push` moves the branch, `observe` looks at the remote."
  ),
  outcome: field(Schema.Literal("succeeded", "failed"), "How the step ended."),
  attempt: field(Schema.Int, "The number of the attempt of the job that made the step, counted from 1."),
  detail: field(
    Schema.Record({ key: Schema.String, value: Schema.Unknown }),
    "The evidence of the step, such as the branch and the commits that were seen."
  ),
  recorded_at: field(Timestamp, "The time of the step.")
}).annotations({
  identifier: "DeliveryStep",
  description: "One step of a delivery. Steps are kept in the order in which they happened, and are only ever added."
})
export type DeliveryStep = typeof DeliveryStep.Type

export const UpdateStrategy = Schema.Literal("fast_forward", "force_with_lease").annotations({
  description:
    "`fast_forward` only moves a branch forward. `force_with_lease` replaces exactly the head that was last seen."
})
export type UpdateStrategy = typeof UpdateStrategy.Type

export const DeliveryOnto = Schema.Literal("base", "head").annotations({
  description:
    "`base` makes one commit on the base commit of the changeset. `head` makes one commit on top of a branch that the session has delivered before, and keeps every commit that is there."
})
export type DeliveryOnto = typeof DeliveryOnto.Type

export const Delivery = Schema.Struct({
  id: field(DeliveryId, "The id of the delivery."),
  changeset_id: field(ChangesetId, "The changeset that is delivered."),
  session_id: field(SessionId, "The session that the changeset comes from."),
  transport: field(DeliveryTransport, "How it is delivered."),
  connection_id: field(
    Schema.NullOr(ConnectionId),
    "The connection that it is delivered with; null when none was chosen."
  ),
  target_ref: field(Schema.String, "The branch, without `refs/heads/`. For a patch a name only."),
  title: field(Schema.NullOr(Schema.String), "The subject of the commit; null for the default."),
  author: field(
    Schema.NullOr(GitIdentity),
    "The author of the commit, as the delivery was asked for; null for the service, and for a patch."
  ),
  trailers: field(
    Schema.Array(Schema.String),
    "The lines at the end of the commit's message, as in `Reins-Session: sess_...`. Empty for a patch."
  ),
  signs: field(Schema.Boolean, "True when the commit has to be signed, as the project says."),
  key_id: field(
    Schema.NullOr(SigningKeyId),
    "The key that signs the commit; null without a signature, and until there is a key."
  ),
  update_strategy: field(UpdateStrategy, "How an existing branch may be moved."),
  onto: field(DeliveryOnto, "The commit that the new one goes onto."),
  allow: field(
    Schema.Array(DeliveryObstacle),
    "The obstacles that do not block this delivery, because its caller has allowed them."
  ),
  state: field(DeliveryState, "Where the delivery stands."),
  reason: field(Schema.NullOr(DeliveryReason), "Why it failed or is blocked; null otherwise."),
  reason_message: field(
    Schema.NullOr(Schema.String),
    "A sentence for people: what happened and what to do next. Null when there is no reason."
  ),
  remote_url: field(Schema.NullOr(Schema.String), "The repository that the branch goes to; null for a patch."),
  commit: field(Schema.NullOr(Schema.String), "The commit that was made for the changeset; null until then."),
  parents: field(
    Schema.Array(Schema.String),
    "The parents of that commit; empty until it is delivered, and for one without a parent."
  ),
  conflicts: field(
    Schema.Array(Schema.String),
    "The paths that the changeset and commits on the branch have both changed, sorted. Empty unless the reason is `merge_conflict`."
  ),
  observed_head: field(
    Schema.NullOr(Schema.String),
    "The commit at which the branch was last seen on the remote; null when it was not seen."
  ),
  patch: field(
    Schema.NullOr(Schema.String),
    "The text of the patch, with the transport `patch`; null otherwise and until it is made."
  ),
  steps: field(Schema.Array(DeliveryStep), "What was done, in the order in which it happened."),
  version: field(Schema.Int, "Grows by one with each change."),
  created_at: field(Timestamp, "The time at which the delivery was asked for."),
  updated_at: field(Timestamp, "The time of its last change.")
}).annotations({
  identifier: "Delivery",
  description: "A sealed changeset on its way out: as a patch, or as a branch of the repository."
})
export type Delivery = typeof Delivery.Type

export const DeliveryAction = Schema.Literal("cancel", "open_merge_request", "refresh", "retry").annotations({
  description: "A command on a delivery that its caller can give."
})
export type DeliveryAction = typeof DeliveryAction.Type

/** A delivery as clients read it, with what they can do with it. */
export const ActionableDelivery = Schema.Struct({
  ...Delivery.fields,
  actions: field(
    Schema.Array(DeliveryAction),
    "What the caller can do with the delivery now: its state, the role and the scope of the credentials allow it. A merge request also needs a connection to the forge. Empty for credentials that may only read."
  )
}).annotations({
  identifier: "Delivery",
  description:
    "A sealed changeset on its way out, with what the caller can do with it: as a patch, or as a branch of the repository."
})
export type ActionableDelivery = typeof ActionableDelivery.Type
