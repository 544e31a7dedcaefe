import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, put, read, remove } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { commaList, JoinsRepeated, pageFields } from "@reins/base/domain/Query"
import { Schema } from "effect"
import { SessionSeen, WorkList } from "./Work.js"

/** At most 200 ids, as many as a page has. */
const idList = commaList.pipe(Schema.pattern(/^[^,]*(?:,[^,]*){0,199}$/)).annotations({ [JoinsRepeated]: true })

export const WorkQuery = Schema.Struct({
  view: field(
    Schema.optionalWith(Schema.Literal("waiting", "working", "unread", "open", "archived"), { exact: true }),
    "Only these sessions. `unread`: those among the newest 1,000 that are new to the caller. `open`, which is the default: all but the archived ones. A session without a turn is in it at once while fewer than 1,000 newer ones are open, and else within an hour."
  ),
  session_ids: field(
    Schema.optionalWith(idList, { exact: true }),
    "Only these sessions, in whatever view: a comma list of at most 200 ids. Those that are not in the workspace are left out."
  ),
  ...pageFields
})

export const SeenInput = Schema.Struct({
  seq: field(
    Schema.Int.pipe(Schema.nonNegative()),
    "The `seq` of the newest event that the caller has seen. A mark never goes back, and never beyond the newest event."
  )
}).annotations({ identifier: "SeenInput", description: "How far the caller has seen a session." })
export type SeenInput = typeof SeenInput.Type

export class WorkspaceWorkApi extends HttpApiGroup.make("workspaces").add(
  read("listWork", "/api/workspaces/:workspace_id/work", "List the sessions of a workspace by what they wait for")
    .setPath(idPath("workspace_id"))
    .setUrlParams(WorkQuery)
    .addSuccess(WorkList)
    .annotateContext(extension)
) {}

const session = idPath("session_id")

export class SessionSeenApi extends HttpApiGroup.make("sessions")
  .add(
    put("markSeen", "/api/sessions/:session_id/seen", "Note how far the caller has seen a session", "read")
      .setPath(session)
      .setPayload(SeenInput)
      .addSuccess(SessionSeen)
      .annotateContext(extension)
  )
  .add(
    remove("markUnseen", "/api/sessions/:session_id/seen", "Make a session new to the caller again", "read")
      .setPath(session)
      .addSuccess(SessionSeen)
      .annotateContext(extension)
  ) {}
