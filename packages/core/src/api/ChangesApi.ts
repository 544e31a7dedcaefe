import { HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { ChangedFile, Changeset } from "../domain/Changeset.js"
import { Delivery, UpdateStrategy } from "../domain/Delivery.js"
import { ConnectionId } from "../domain/Ids.js"
import { OperationRef } from "../domain/Job.js"
import { Page } from "../domain/Page.js"
import { DeliveryTransport } from "../domain/Project.js"
import { idPath, optional, post, read } from "./Endpoint.js"
import { integer, pageFields } from "./Query.js"

export const Diff = Schema.Struct({
  diff: Schema.String,
  files: Schema.Array(ChangedFile),
  truncated: Schema.Boolean,
  subject_digest: Schema.String
}).annotations({ identifier: "Diff" })
export type Diff = typeof Diff.Type

/** Without `path` the list of changed files; with it the content of that file. */
export const ChangesetFiles = Schema.Struct({
  items: Schema.optionalWith(Schema.Array(ChangedFile), { exact: true }),
  path: Schema.optionalWith(Schema.String, { exact: true }),
  encoding: Schema.optionalWith(Schema.Literal("utf-8", "base64"), { exact: true }),
  content: Schema.optionalWith(Schema.String, { exact: true }),
  size: Schema.optionalWith(Schema.Int, { exact: true }),
  digest: Schema.optionalWith(Schema.String, { exact: true }),
  truncated: Schema.optionalWith(Schema.Boolean, { exact: true })
}).annotations({ identifier: "ChangesetFiles" })
export type ChangesetFiles = typeof ChangesetFiles.Type

export const DeliveryInput = Schema.Struct({
  transport: optional(DeliveryTransport),
  connection_id: optional(ConnectionId),
  target_ref: optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255))),
  title: optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(500))),
  update_strategy: optional(UpdateStrategy)
}).annotations({ identifier: "DeliveryInput" })
export type DeliveryInput = typeof DeliveryInput.Type

export const DeliveryAnswer = Schema.Struct({
  operation: OperationRef,
  delivery: Delivery,
  event_watermark: Schema.Int
}).annotations({ identifier: "DeliveryAnswer" })
export type DeliveryAnswer = typeof DeliveryAnswer.Type

const changeset = idPath("changeset_id")

export class ChangesetsApi extends HttpApiGroup.make("changesets")
  .add(read("get", "/api/changesets/:changeset_id", "Read a changeset").setPath(changeset).addSuccess(Changeset))
  .add(
    read("diff", "/api/changesets/:changeset_id/diff", "The diff of a changeset")
      .setPath(changeset)
      .setUrlParams(
        Schema.Struct({
          path: Schema.optionalWith(Schema.String, { exact: true }),
          context: Schema.optionalWith(integer({ min: 0, max: 1000 }), { exact: true })
        })
      )
      .addSuccess(Diff)
  )
  .add(
    read("files", "/api/changesets/:changeset_id/files", "The changed files, or the content of one")
      .setPath(changeset)
      .setUrlParams(Schema.Struct({ path: Schema.optionalWith(Schema.String, { exact: true }) }))
      .addSuccess(ChangesetFiles)
  )
  .add(
    read("listDeliveries", "/api/changesets/:changeset_id/deliveries", "List the deliveries of a changeset")
      .setPath(changeset)
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("DeliveryList", Delivery))
  )
  .add(
    post("deliver", "/api/changesets/:changeset_id/deliveries", "Request a delivery")
      .setPath(changeset)
      .setPayload(DeliveryInput)
      .addSuccess(DeliveryAnswer)
  ) {}

const delivery = idPath("delivery_id")

export class DeliveriesApi extends HttpApiGroup.make("deliveries")
  .add(read("get", "/api/deliveries/:delivery_id", "Read a delivery").setPath(delivery).addSuccess(Delivery))
  .add(
    post("retry", "/api/deliveries/:delivery_id/retries", "Try a failed or blocked delivery again")
      .setPath(delivery)
      .addSuccess(DeliveryAnswer)
  ) {}
