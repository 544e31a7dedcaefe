import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, post, put, read, remove } from "@reins/base/domain/Endpoint"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { Schema } from "effect"
import { DeliveryAnswer } from "../deliveries/DeliveriesApi.js"
import { CareInput } from "../projects/CarePolicy.js"
import { Attention, Care } from "./Care.js"

const mergeRequest = idPath("merge_request_id")

export class CareApi extends HttpApiGroup.make("care")
  .add(
    read("get", "/api/merge-requests/:merge_request_id/care", "Read the care for a merge request")
      .setPath(mergeRequest)
      .addSuccess(Care)
  )
  .add(
    put("start", "/api/merge-requests/:merge_request_id/care", "Care for a merge request, anew where it was cared for")
      .setPath(mergeRequest)
      .setPayload(CareInput)
      .addSuccess(Care)
  )
  .add(
    remove("remove", "/api/merge-requests/:merge_request_id/care", "End the care for a merge request")
      .setPath(mergeRequest)
      .addSuccess(Care)
  )
  .add(
    read(
      "listAttentions",
      "/api/merge-requests/:merge_request_id/attentions",
      "List what the care for a merge request has turned to"
    )
      .setPath(mergeRequest)
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("AttentionList", Attention))
  )
  .add(
    post("deliverAttention", "/api/attentions/:attention_id/deliveries", "Deliver what an attention has proposed")
      .setPath(idPath("attention_id"))
      .addSuccess(DeliveryAnswer)
  )
  .annotateEndpointsContext(extension) {}
