import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, post, read, remove, withStatus } from "@reins/base/domain/Endpoint"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { Schema } from "effect"
import { PushKey, PushSubscription, PushSubscriptionInput } from "./PushSubscription.js"

export class PushApi extends HttpApiGroup.make("push")
  .add(
    read("getKey", "/api/push-key", "Read the key that browsers subscribe with")
      .addSuccess(PushKey)
      .annotateContext(extension)
  )
  .add(
    read(
      "listSubscriptions",
      "/api/workspaces/:workspace_id/push-subscriptions",
      "List the browsers of the caller that are told of a workspace"
    )
      .setPath(idPath("workspace_id"))
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("PushSubscriptionList", PushSubscription))
      .annotateContext(extension)
  )
  .add(
    post(
      "createSubscription",
      "/api/workspaces/:workspace_id/push-subscriptions",
      "Tell a browser of the caller when a session asks or ends",
      "read"
    )
      .setPath(idPath("workspace_id"))
      .setPayload(PushSubscriptionInput)
      .addSuccess(withStatus(PushSubscription, 201))
      .annotateContext(extension)
  )
  .add(
    remove("removeSubscription", "/api/push-subscriptions/:push_subscription_id", "Tell a browser nothing more", "read")
      .setPath(idPath("push_subscription_id"))
      .addSuccess(PushSubscription)
      .annotateContext(extension)
  ) {}
