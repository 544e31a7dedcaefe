import { HttpApiGroup } from "@effect/platform"
import {
  extension,
  idPath,
  NeedsMachine,
  optional,
  post,
  read,
  remove,
  SecretAnswer,
  withStatus
} from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { Page } from "@reins/base/domain/Page"
import { integer, pageFields } from "@reins/base/domain/Query"
import { GivenTimestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import {
  CreatedShare,
  Share,
  SharedChangeset,
  SharedDiff,
  SharedMessage,
  SharedSession,
  ShareInclude
} from "./Share.js"

export const ShareInput = Schema.Struct({
  includes: field(
    optional(Schema.Array(ShareInclude).pipe(Schema.maxItems(ShareInclude.literals.length))),
    "The parts that the link shows beside the conversation and the plans; `changes` when absent."
  ),
  expires_at: field(optional(GivenTimestamp), "The time from which the link shows nothing; never when absent.")
}).annotations({ identifier: "ShareInput", description: "What a link shows, and how long." })
export type ShareInput = typeof ShareInput.Type

const session = idPath("session_id")

export class SessionSharesApi extends HttpApiGroup.make("sessions")
  .add(
    read("listShares", "/api/sessions/:session_id/shares", "List the shares of a session")
      .setPath(session)
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("ShareList", Share))
      .annotateContext(extension)
  )
  .add(
    post("share", "/api/sessions/:session_id/shares", "Share a session with everybody who has the link")
      .setPath(session)
      .setPayload(ShareInput)
      .addSuccess(withStatus(CreatedShare, 201))
      .annotate(SecretAnswer, true)
      .annotateContext(extension)
  ) {}

const share = idPath("share_id")

export class SharesApi extends HttpApiGroup.make("shares")
  .add(read("get", "/api/shares/:share_id", "Read a share").setPath(share).addSuccess(Share))
  .add(remove("revoke", "/api/shares/:share_id", "Take a share back").setPath(share).addSuccess(Share))
  .annotateEndpointsContext(extension) {}

const withToken = "with the token of a link as `Authorization: Bearer rsh_...`"

/** The endpoints behind a link. Their caller has a token and no account, so none of them names a session. */
export class SharedApi extends HttpApiGroup.make("shared")
  .add(
    read("getSession", "/api/shared/session", `Read a shared session, ${withToken}`, "public").addSuccess(SharedSession)
  )
  .add(
    read("listMessages", "/api/shared/messages", `List the messages of a shared session, ${withToken}`, "public")
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("SharedMessageList", SharedMessage))
  )
  .add(
    read(
      "listChangesets",
      "/api/shared/changesets",
      `List the sealed changesets of a shared session, ${withToken}`,
      "public"
    )
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("SharedChangesetList", SharedChangeset))
  )
  .add(
    read(
      "getDiff",
      "/api/shared/changesets/:changeset_id/diff",
      `The diff of a changeset of a shared session, ${withToken}`,
      "public"
    )
      .setPath(idPath("changeset_id"))
      .addSuccess(SharedDiff)
      .annotate(NeedsMachine, "changeset_id")
  )
  .add(
    read("getWatermark", "/api/shared/watermark", `Wait until a shared session changes, ${withToken}`, "public")
      .setUrlParams(
        Schema.Struct({
          after: field(
            Schema.optionalWith(integer({ min: 0 }), { exact: true }),
            "The `event_watermark` that is known. The answer comes once there is a greater one, and after 25 seconds at the latest. At once when absent."
          )
        })
      )
      .addSuccess(
        Schema.Struct({ event_watermark: field(Schema.Int, "The watermark now.") }).annotations({
          identifier: "SharedWatermark",
          description: "How far the events of a shared session have come."
        })
      )
  )
  .annotateEndpointsContext(extension) {}
