import { field } from "@reins/base/domain/Field"
import { PushSubscriptionId, WorkspaceId } from "@reins/base/domain/Ids"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { WebUrl } from "@reins/base/domain/WebUrl"
import { Schema } from "effect"

const base64url = (length: number) => Schema.String.pipe(Schema.pattern(new RegExp(`^[A-Za-z0-9_-]{${length}}=*$`)))

export const PushSubscriptionInput = Schema.Struct({
  endpoint: field(WebUrl, "The address that the push service gave the browser."),
  p256dh: field(base64url(87), "The public key of the browser, base64url."),
  auth: field(base64url(22), "The secret of the browser, base64url.")
}).annotations({
  identifier: "PushSubscriptionInput",
  description: "A browser as its `PushSubscription` names it. The server seals all of it."
})
export type PushSubscriptionInput = typeof PushSubscriptionInput.Type

export const PushSubscription = Schema.Struct({
  id: field(PushSubscriptionId, "The id of the subscription."),
  workspace_id: field(WorkspaceId, "The workspace whose sessions the browser is told of."),
  host: field(Schema.String, "The host of the push service. The rest of the address is a secret."),
  created_at: field(Timestamp, "The time at which the browser subscribed.")
}).annotations({ identifier: "PushSubscription", description: "A browser that is told when a session asks or ends." })
export type PushSubscription = typeof PushSubscription.Type

export const PushKey = Schema.Struct({
  public_key: field(
    Schema.NullOr(Schema.String),
    "The public key of the server, which a browser subscribes with; null where the operator has set no key and nobody is told."
  )
}).annotations({
  identifier: "PushKey",
  description: "The key with which the server proves who it is to push services."
})
export type PushKey = typeof PushKey.Type
