import { eventKinds, type PayloadsOf } from "@reins/base/domain/Event"
import { field } from "@reins/base/domain/Field"
import { ShareId } from "@reins/base/domain/Ids"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { ShareInclude } from "./Share.js"

const SharePayload = Schema.Struct({
  share_id: field(ShareId, "The share. Its link is in no event."),
  includes: field(Schema.Array(ShareInclude), "The parts that the link shows beside the conversation and the plans."),
  expires_at: field(Schema.NullOr(Timestamp), "The time from which it shows nothing; null for none.")
}).annotations({ identifier: "SharePayload", description: "A link with which anybody may read the session." })

export const shareEvents = eventKinds({
  "session.shared": { payload: SharePayload, text: "Somebody made a link with which anybody may read the session." },
  "session.unshared": { payload: SharePayload, text: "The link was taken back." }
})

declare module "@reins/base/domain/Event" {
  interface EventPayloads extends PayloadsOf<typeof shareEvents> {}
}
