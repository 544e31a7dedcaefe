import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, optional, post, read, withStatus } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { CheckId } from "@reins/base/domain/Ids"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { BranchInput } from "@reins/base/domain/RefName"
import { refused } from "@reins/base/domain/Refused"
import { Schema } from "effect"
import { OperationRef } from "../jobs/Job.js"
import { CareInput } from "../projects/CarePolicy.js"
import { MergeInput, ReadinessInput, ReplyInput } from "./RequestInputs.js"
import { CareState } from "./rows/CareState.js"
import { ActionableMergeRequest, LookAnswer, MergeRequestState } from "./rows/MergeRequest.js"
import { RequestCheck, RequestCheckLog, RequestReview, RequestThread } from "./rows/RequestParts.js"

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

const delivery = idPath("delivery_id")

export class DeliveryRequestsApi extends HttpApiGroup.make("deliveries")
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
