import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, NeedsMachine, optional, post, read, withStatus } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { CheckId, ConnectionId, SessionId } from "@reins/base/domain/Ids"
import { Page } from "@reins/base/domain/Page"
import { integer, pageFields } from "@reins/base/domain/Query"
import { BranchInput } from "@reins/base/domain/RefName"
import { refused } from "@reins/base/domain/Refused"
import { DeliveryObstacle, obstacleReasons } from "@reins/machine/git/Obstacle"
import { Schema } from "effect"
import { OperationRef } from "../jobs/Job.js"
import { CareInput } from "../projects/CarePolicy.js"
import { DeliveryAuthor, DeliveryTransport } from "../projects/Project.js"
import { Application, ApplicationStrategy } from "./Application.js"
import { ActionableChangeset, ChangedFile } from "./Changeset.js"
import { ActionableDelivery, DeliveryOnto, DeliveryState, UpdateStrategy } from "./Delivery.js"
import { CareState } from "./looks/CareState.js"
import { RequestCheck, RequestCheckLog, RequestReview, RequestThread } from "./looks/RequestParts.js"
import { ActionableMergeRequest, LookAnswer, MergeRequestState } from "./MergeRequest.js"
import { MergeInput, ReadinessInput, ReplyInput } from "./RequestInputs.js"

const Omission = Schema.Struct({
  path: field(Schema.String, "The path of the file."),
  additions: field(Schema.Int, "The number of added lines that the diff does not show, or shows in part."),
  deletions: field(Schema.Int, "The number of deleted lines that the diff does not show, or shows in part.")
}).annotations({
  identifier: "DiffOmission",
  description: "A file of which a diff shows only the beginning, or nothing."
})

export const Diff = Schema.Struct({
  diff: field(
    Schema.String,
    "The unified diff, as git writes it. Bytes that are not UTF-8 stand in octal, as in `caf\\351`."
  ),
  files: field(Schema.Array(ChangedFile), "The files of the diff, also those that it leaves out."),
  truncated: field(
    Schema.Boolean,
    "True when the diff was cut at the limits `diff_bytes`, `diff_file_bytes` or `diff_files`."
  ),
  omitted: field(
    Schema.Array(Omission),
    "The files of which the diff does not show all, in its order. Empty unless `truncated`."
  ),
  subject_digest: field(Schema.String, "The digest of the changeset.")
}).annotations({ identifier: "Diff", description: "What changed, as text." })
export type Diff = typeof Diff.Type

export const ChangesetFiles = Schema.Struct({
  items: field(
    Schema.optionalWith(Schema.Array(ChangedFile), { exact: true }),
    "The changed files. Absent with `path`."
  ),
  path: field(Schema.optionalWith(Schema.String, { exact: true }), "The path of the file. Only with `path`."),
  encoding: field(
    Schema.optionalWith(Schema.Literal("utf-8", "base64"), { exact: true }),
    "The form of `content`: `base64` for a file that is no UTF-8 text. Only with `path`."
  ),
  content: field(
    Schema.optionalWith(Schema.String, { exact: true }),
    "The content, from the start of the file. Only with `path`."
  ),
  size: field(
    Schema.optionalWith(Schema.Int, { exact: true }),
    "The size of the whole file in bytes. Only with `path`."
  ),
  digest: field(
    Schema.optionalWith(Schema.String, { exact: true }),
    "The SHA-256 of the whole file, as in `sha256:<hex>`. Only with `path`."
  ),
  truncated: field(
    Schema.optionalWith(Schema.Boolean, { exact: true }),
    "True when `content` is cut at the limit `file_read_bytes`. Only with `path`."
  )
}).annotations({
  identifier: "ChangesetFiles",
  description: "The list of changed files, or with `path` the content of that file."
})
export type ChangesetFiles = typeof ChangesetFiles.Type

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

export const ApplicationInput = Schema.Struct({
  target_session_id: field(SessionId, "The session whose workspace is changed; it may be that of the changeset."),
  strategy: field(optional(ApplicationStrategy), "How the changes are brought in; `three_way` when absent."),
  dry_run: field(optional(Schema.Boolean), "True only reports and writes nothing; false when absent.")
}).annotations({ identifier: "ApplicationInput", description: "Where a changeset is to be applied, and how." })
export type ApplicationInput = typeof ApplicationInput.Type

export const ApplicationAnswer = Schema.Struct({
  operation: field(OperationRef, "The operation that does the work."),
  application: field(Application, "The application as it is now."),
  event_watermark: field(
    Schema.Int,
    "The `seq` of the newest event of the target session, whose events tell how the application ends."
  )
}).annotations({ identifier: "ApplicationAnswer", description: "The application, and the operation that works on it." })
export type ApplicationAnswer = typeof ApplicationAnswer.Type

const mergingIsElsewhere =
  "this opens a merge request and merges nothing; merge with POST /api/merge-requests/{merge_request_id}/merges, which takes expected_head_sha"

export const MergeRequestInput = Schema.Struct({
  title: field(
    optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(250))),
    "Its title. When absent, the title of the delivery."
  ),
  description: field(
    optional(Schema.String.pipe(Schema.maxLength(60_000))),
    "Its text, at most 60,000 characters; empty when absent."
  ),
  base_branch: field(
    optional(BranchInput),
    "The branch that it is to be merged into. When absent, the branch that the session started from."
  ),
  draft: field(optional(Schema.Boolean), "True marks it as not ready for review; true when absent."),
  care: field(optional(CareInput), "How Reins cares for it until it is merged. When absent, as the project says."),
  expected_head: refused(mergingIsElsewhere),
  expected_head_sha: refused(mergingIsElsewhere)
}).annotations({ identifier: "MergeRequestInput", description: "The merge request to open." })
export type MergeRequestInput = typeof MergeRequestInput.Type

export const RerunInput = Schema.Struct({
  check_ids: field(
    optional(Schema.NonEmptyArray(CheckId).pipe(Schema.maxItems(100))),
    "The checks of the head that have failed or were cancelled; all of them when absent."
  )
}).annotations({ identifier: "RerunInput", description: "The checks to begin anew." })
export type RerunInput = typeof RerunInput.Type

export const MergeRequestAnswer = Schema.Struct({
  operation: field(OperationRef, "The operation that does the work."),
  merge_request: field(ActionableMergeRequest, "The merge request as it is now."),
  event_watermark: field(
    Schema.Int,
    "The `seq` of the newest event of the session; read on from it to follow the work."
  )
}).annotations({
  identifier: "MergeRequestAnswer",
  description: "The merge request, and the operation that works on it."
})
export type MergeRequestAnswer = typeof MergeRequestAnswer.Type

const changeset = idPath("changeset_id")

const against = field(
  Schema.optionalWith(Schema.String, { exact: true }),
  "Another sealed changeset of the session, by its id: what differs from it, in the place of what differs from the base commit."
)

export class ChangesetsApi extends HttpApiGroup.make("changesets")
  .add(
    read("get", "/api/changesets/:changeset_id", "Read a changeset").setPath(changeset).addSuccess(ActionableChangeset)
  )
  .add(
    read("getDiff", "/api/changesets/:changeset_id/diff", "The diff of a changeset")
      .setPath(changeset)
      .setUrlParams(
        Schema.Struct({
          path: field(
            Schema.optionalWith(Schema.String, { exact: true }),
            "A file or a folder, by its path before or after the change. When absent, all files."
          ),
          context: Schema.optionalWith(integer({ min: 0, max: 1000 }), { exact: true }),
          against
        })
      )
      .addSuccess(Diff)
      .annotate(NeedsMachine, "changeset_id")
  )
  .add(
    read("listFiles", "/api/changesets/:changeset_id/files", "The changed files, or the content of one")
      .setPath(changeset)
      .setUrlParams(Schema.Struct({ path: Schema.optionalWith(Schema.String, { exact: true }), against }))
      .addSuccess(ChangesetFiles)
      .annotate(NeedsMachine, "changeset_id")
  )
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
  )
  .add(
    read("listMergeRequests", "/api/deliveries/:delivery_id/merge-requests", "List the merge requests of a delivery")
      .setPath(delivery)
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("MergeRequestList", ActionableMergeRequest))
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
      .addSuccess(ActionableMergeRequest)
      .annotateContext(extension)
  )
  .add(
    post("merge", "/api/merge-requests/:merge_request_id/merges", "Merge exactly the commit that was reviewed")
      .setPath(mergeRequest)
      .setPayload(MergeInput)
      .addSuccess(withStatus(MergeRequestAnswer, 202))
      .annotateContext(extension)
  )
  .add(
    read("list", "/api/workspaces/:workspace_id/merge-requests", "List the merge requests of a workspace")
      .setPath(idPath("workspace_id"))
      .setUrlParams(
        Schema.Struct({
          ...pageFields,
          state: Schema.optionalWith(MergeRequestState, { exact: true }),
          care: field(Schema.optionalWith(CareState, { exact: true }), "Only those whose care stands so."),
          project_id: Schema.optionalWith(Schema.String, { exact: true }),
          session_id: Schema.optionalWith(Schema.String, { exact: true })
        })
      )
      .addSuccess(Page("WorkspaceMergeRequestList", ActionableMergeRequest))
      .annotateContext(extension)
  )
  .add(
    read("listChecks", "/api/merge-requests/:merge_request_id/checks", "List the checks of a merge request")
      .setPath(mergeRequest)
      .setUrlParams(
        Schema.Struct({
          ...pageFields,
          head_sha: field(Schema.optionalWith(Schema.String, { exact: true }), "The commit whose checks are wanted.")
        })
      )
      .addSuccess(Page("RequestCheckList", RequestCheck))
      .annotateContext(extension)
  )
  .add(
    read("listReviews", "/api/merge-requests/:merge_request_id/reviews", "List the reviews of a merge request")
      .setPath(mergeRequest)
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("RequestReviewList", RequestReview))
      .annotateContext(extension)
  )
  .add(
    read("listThreads", "/api/merge-requests/:merge_request_id/threads", "List the threads of a merge request")
      .setPath(mergeRequest)
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("RequestThreadList", RequestThread))
      .annotateContext(extension)
  )
  .add(
    read("getLog", "/api/merge-request-checks/:check_id/log", "Read the log of a check that has failed")
      .setPath(idPath("check_id"))
      .addSuccess(RequestCheckLog)
      .annotateContext(extension)
  )
  .add(
    post("rerun", "/api/merge-requests/:merge_request_id/reruns", "Begin checks of the head anew")
      .setPath(mergeRequest)
      .setPayload(RerunInput)
      .addSuccess(withStatus(MergeRequestAnswer, 202))
      .annotateContext(extension)
  )
  .add(
    post("setReadiness", "/api/merge-requests/:merge_request_id/readiness", "Make it a draft, or ready for review")
      .setPath(mergeRequest)
      .setPayload(ReadinessInput)
      .addSuccess(withStatus(MergeRequestAnswer, 202))
      .annotateContext(extension)
  )
  .add(
    post("reply", "/api/merge-requests/:merge_request_id/replies", "Comment on the forge, once")
      .setPath(mergeRequest)
      .setPayload(ReplyInput)
      .addSuccess(withStatus(MergeRequestAnswer, 202))
      .annotateContext(extension)
  )
  .add(
    post("look", "/api/merge-requests/:merge_request_id/looks", "Have the forge read anew")
      .setPath(mergeRequest)
      .addSuccess(withStatus(LookAnswer, 202))
      .annotateContext(extension)
  ) {}
