import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, post, put, read, remove, withStatus } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { Schema } from "effect"
import { MergeConditionsInput } from "../../projects/MergeTerms.js"
import { ActionableMergeRequest } from "../rows/MergeRequest.js"
import { ChangesetVerdict, VerdictInput } from "./ChangesetVerdict.js"

const ConditionsAnswer = Schema.Struct({
  merge_request: field(ActionableMergeRequest, "The merge request with its conditions.")
}).annotations({ identifier: "ConditionsAnswer", description: "The merge request whose conditions were changed." })

const conditionsPath = "/api/merge-requests/:merge_request_id/merge-conditions"

export class ConditionsApi extends HttpApiGroup.make("mergeRequests")
  .add(
    put("setConditions", conditionsPath, "Merge by itself once conditions hold")
      .setPath(idPath("merge_request_id"))
      .setPayload(MergeConditionsInput)
      .addSuccess(ConditionsAnswer)
  )
  .add(
    remove("removeConditions", conditionsPath, "Take the merge conditions back")
      .setPath(idPath("merge_request_id"))
      .addSuccess(ConditionsAnswer)
  )
  .annotateEndpointsContext(extension) {}

export class VerdictsApi extends HttpApiGroup.make("changesets")
  .add(
    post("submitVerdict", "/api/changesets/:changeset_id/verdicts", "Approve or reject a changeset")
      .setPath(idPath("changeset_id"))
      .setPayload(VerdictInput)
      .addSuccess(withStatus(ChangesetVerdict, 201))
  )
  .add(
    read("listVerdicts", "/api/changesets/:changeset_id/verdicts", "List the verdicts on a changeset")
      .setPath(idPath("changeset_id"))
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("VerdictList", ChangesetVerdict))
  )
  .annotateEndpointsContext(extension) {}
