import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, optional, post, read, withStatus } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { ConnectionId } from "@reins/base/domain/Ids"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { BranchInput } from "@reins/base/domain/RefName"
import { DeliveryObstacle, obstacleReasons } from "@reins/machine/git/findings/Obstacle"
import { Schema } from "effect"
import { OperationRef } from "../jobs/Job.js"
import { DeliveryAuthor, DeliveryTransport } from "../projects/Project.js"
import { ActionableDelivery, DeliveryOnto, DeliveryState, UpdateStrategy } from "./Delivery.js"

export const DeliveryInput = Schema.Struct({
  transport: field(
    optional(DeliveryTransport),
    "The transport. When absent, that of the project; else `git_branch` for a session with a repository and `patch` for one without."
  ),
  connection_id: field(
    optional(ConnectionId),
    "The connection to push with. When absent, one of the project or workspace that fits the repository."
  ),
  target_ref: field(
    optional(BranchInput),
    "The branch, with or without `refs/heads/`. A new branch of its own when absent."
  ),
  title: field(
    optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(500))),
    "The subject of the commit. The title of the session when absent."
  ),
  update_strategy: field(optional(UpdateStrategy), "How an existing branch may be moved; `fast_forward` when absent."),
  onto: field(
    optional(DeliveryOnto),
    "The commit that the new one goes onto; `base` when absent. With `head` the branch is one that the session has delivered before: `target_ref`, or the newest one that is not merged or closed. It takes no `force_with_lease`."
  ),
  author: field(
    optional(DeliveryAuthor),
    "The author of the commit; as the project says when absent. A delivery that was asked for before keeps its own."
  ),
  allow: field(
    optional(Schema.Array(DeliveryObstacle).pipe(Schema.maxItems(Object.keys(obstacleReasons).length))),
    "The obstacles in the changeset that do not block the delivery. None when absent; a delivery that was asked for before keeps its own."
  )
}).annotations({ identifier: "DeliveryInput", description: "How a changeset is to be delivered." })
export type DeliveryInput = typeof DeliveryInput.Type

export const DeliveryAnswer = Schema.Struct({
  operation: field(OperationRef, "The operation that does the work."),
  delivery: field(ActionableDelivery, "The delivery as it is now."),
  event_watermark: field(
    Schema.Int,
    "The `seq` of the newest event of the session; read on from it to follow the work."
  )
}).annotations({ identifier: "DeliveryAnswer", description: "The delivery, and the operation that works on it." })
export type DeliveryAnswer = typeof DeliveryAnswer.Type

const changeset = idPath("changeset_id")

export class ChangesetDeliveriesApi extends HttpApiGroup.make("changesets")
  .add(
    read("listDeliveries", "/api/changesets/:changeset_id/deliveries", "List the deliveries of a changeset")
      .setPath(changeset)
      .setUrlParams(Schema.Struct({ ...pageFields, state: Schema.optionalWith(DeliveryState, { exact: true }) }))
      .addSuccess(Page("DeliveryList", ActionableDelivery))
  )
  .add(
    post("deliver", "/api/changesets/:changeset_id/deliveries", "Request a delivery")
      .setPath(changeset)
      .setPayload(DeliveryInput)
      .addSuccess(DeliveryAnswer)
  ) {}

const delivery = idPath("delivery_id")

export class DeliveriesApi extends HttpApiGroup.make("deliveries")
  .add(read("get", "/api/deliveries/:delivery_id", "Read a delivery").setPath(delivery).addSuccess(ActionableDelivery))
  .add(
    post("retry", "/api/deliveries/:delivery_id/retries", "Try a failed or blocked delivery again")
      .setPath(delivery)
      .addSuccess(DeliveryAnswer)
  )
  .add(
    post("refresh", "/api/deliveries/:delivery_id/refreshes", "Look at the remote; a blocked delivery goes on")
      .setPath(delivery)
      .addSuccess(DeliveryAnswer)
  )
  .add(
    post("cancel", "/api/deliveries/:delivery_id/cancellations", "Stop a delivery that has not pushed yet")
      .setPath(delivery)
      .addSuccess(withStatus(DeliveryAnswer, 202))
      .annotateContext(extension)
  ) {}
