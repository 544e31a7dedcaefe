import { HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { Application, ApplicationStrategy } from "../domain/Application.js"
import { ChangedFile, Changeset } from "../domain/Changeset.js"
import { Delivery, UpdateStrategy } from "../domain/Delivery.js"
import { ConnectionId, SessionId } from "../domain/Ids.js"
import { OperationRef } from "../domain/Job.js"
import { MergeMethod, MergeRequest } from "../domain/MergeRequest.js"
import { Page } from "../domain/Page.js"
import { DeliveryTransport } from "../domain/Project.js"
import { extension, idPath, optional, post, read, withStatus } from "./Endpoint.js"
import { integer, pageFields } from "./Query.js"

export const Diff = Schema.Struct({
  diff: Schema.String,
  files: Schema.Array(ChangedFile),
  truncated: Schema.Boolean,
  subject_digest: Schema.String
}).annotations({ identifier: "Diff" })
export type Diff = typeof Diff.Type

/** The list of changed files, or with `path` the content of that file. */
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

export const ApplicationInput = Schema.Struct({
  /** The session whose workspace is changed; it may be that of the changeset. */
  target_session_id: SessionId,
  /** `three_way` when absent. */
  strategy: optional(ApplicationStrategy),
  dry_run: optional(Schema.Boolean)
}).annotations({ identifier: "ApplicationInput" })
export type ApplicationInput = typeof ApplicationInput.Type

export const ApplicationAnswer = Schema.Struct({
  operation: OperationRef,
  application: Application,
  /** The watermark of the target session, whose events tell how the application ends. */
  event_watermark: Schema.Int
}).annotations({ identifier: "ApplicationAnswer" })
export type ApplicationAnswer = typeof ApplicationAnswer.Type

export const MergeRequestInput = Schema.Struct({
  /** When absent, the title of the delivery. */
  title: optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(250))),
  description: optional(Schema.String.pipe(Schema.maxLength(60_000))),
  /** When absent, the branch that the session started from. */
  base_branch: optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))),
  /** True when absent. */
  draft: optional(Schema.Boolean)
}).annotations({ identifier: "MergeRequestInput" })
export type MergeRequestInput = typeof MergeRequestInput.Type

export const MergeInput = Schema.Struct({
  /** The full id of the commit that was reviewed. No other commit is merged. */
  expected_head_sha: Schema.String.pipe(Schema.pattern(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/)),
  /** `merge` when absent. */
  method: optional(MergeMethod)
}).annotations({ identifier: "MergeInput" })
export type MergeInput = typeof MergeInput.Type

export const MergeRequestAnswer = Schema.Struct({
  operation: OperationRef,
  merge_request: MergeRequest,
  event_watermark: Schema.Int
}).annotations({ identifier: "MergeRequestAnswer" })
export type MergeRequestAnswer = typeof MergeRequestAnswer.Type

const changeset = idPath("changeset_id")

export class ChangesetsApi extends HttpApiGroup.make("changesets")
  .add(read("get", "/api/changesets/:changeset_id", "Read a changeset").setPath(changeset).addSuccess(Changeset))
  .add(
    read("getDiff", "/api/changesets/:changeset_id/diff", "The diff of a changeset")
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
    read("listFiles", "/api/changesets/:changeset_id/files", "The changed files, or the content of one")
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
  )
  .add(
    post("apply", "/api/changesets/:changeset_id/applications", "Apply a changeset to the workspace of a session")
      .setPath(changeset)
      .setPayload(ApplicationInput)
      .addSuccess(ApplicationAnswer)
  ) {}

export class ApplicationsApi extends HttpApiGroup.make("applications").add(
  read("get", "/api/applications/:application_id", "Read an application")
    .setPath(idPath("application_id"))
    .addSuccess(Application)
    .annotateContext(extension)
) {}

const delivery = idPath("delivery_id")

export class DeliveriesApi extends HttpApiGroup.make("deliveries")
  .add(read("get", "/api/deliveries/:delivery_id", "Read a delivery").setPath(delivery).addSuccess(Delivery))
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
  )
  .add(
    read("listMergeRequests", "/api/deliveries/:delivery_id/merge-requests", "List the merge requests of a delivery")
      .setPath(delivery)
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("MergeRequestList", MergeRequest))
      .annotateContext(extension)
  )
  .add(
    post("openMergeRequest", "/api/deliveries/:delivery_id/merge-requests", "Open a merge request for the branch")
      .setPath(delivery)
      .setPayload(MergeRequestInput)
      .addSuccess(MergeRequestAnswer)
  ) {}

const mergeRequest = idPath("merge_request_id")

export class MergeRequestsApi extends HttpApiGroup.make("mergeRequests")
  .add(
    read("get", "/api/merge-requests/:merge_request_id", "Read a merge request as it was last observed")
      .setPath(mergeRequest)
      .addSuccess(MergeRequest)
      .annotateContext(extension)
  )
  .add(
    post("merge", "/api/merge-requests/:merge_request_id/merges", "Merge exactly the commit that was reviewed")
      .setPath(mergeRequest)
      .setPayload(MergeInput)
      .addSuccess(withStatus(MergeRequestAnswer, 202))
      .annotateContext(extension)
  ) {}
