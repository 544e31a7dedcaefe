import { HttpApiGroup } from "@effect/platform"
import { idPath, NeedsMachine, optional, post, read } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { TurnId } from "@reins/base/domain/Ids"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { OperationRef } from "../jobs/Job.js"
import { ActionableChangeset, ChangedFile, ChangesetOrigin, ChangesetState } from "./Changeset.js"

const generation =
  "Names the content of the workspace: the id of its git tree, which changes with every change of a file and comes back with the same " +
  "content. A changeset that captures the content has it as its `tree`."

export const LiveChanges = Schema.Struct({
  live: field(
    Schema.Boolean,
    "True when the workspace was read; false when these are the changes of the last changeset, because there is no workspace."
  ),
  generation: field(
    Schema.NullOr(Schema.String),
    `${generation} Without a live workspace that of the last sealed changeset; null when there is none.`
  ),
  base_commit: field(
    Schema.NullOr(Schema.String),
    "The commit that the files are compared with; null for an empty start."
  ),
  observed_at: field(Timestamp, "The time at which the files were read."),
  files: field(Schema.Array(ChangedFile), "The files that differ, sorted by path.")
}).annotations({ identifier: "LiveChanges", description: "What differs from the base commit." })
export type LiveChanges = typeof LiveChanges.Type

export const ChangesetInput = Schema.Struct({
  label: field(optional(Schema.String.pipe(Schema.maxLength(200))), "A name for it, at most 200 characters."),
  origin: field(
    optional(ChangesetOrigin.pipe(Schema.pickLiteral("explicit", "salvage"))),
    "What it is captured for; `explicit` when absent."
  ),
  source_turn_id: field(optional(TurnId), "The turn that made the work."),
  expected_generation: field(
    optional(Schema.String.pipe(Schema.pattern(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/))),
    `The \`generation\` that was reviewed: another content is not captured (\`stale_subject\`). ${generation}`
  )
}).annotations({ identifier: "ChangesetInput", description: "How a changeset is to be captured." })
export type ChangesetInput = typeof ChangesetInput.Type

export const CaptureAnswer = Schema.Struct({
  operation: field(OperationRef, "The operation that does the work."),
  changeset: field(ActionableChangeset, "The changeset as it is now."),
  event_watermark: field(
    Schema.Int,
    "The `seq` of the newest event of the session; read on from it to follow the capture."
  )
}).annotations({ identifier: "CaptureAnswer", description: "The changeset, and the operation that captures it." })
export type CaptureAnswer = typeof CaptureAnswer.Type

const session = idPath("session_id")

export class CapturesApi extends HttpApiGroup.make("sessions")
  .add(
    read("getChanges", "/api/sessions/:session_id/changes", "What differs from the base now")
      .setPath(session)
      .addSuccess(LiveChanges)
      .annotate(NeedsMachine, "session_id")
  )
  .add(
    read("listChangesets", "/api/sessions/:session_id/changesets", "List the changesets of a session")
      .setPath(session)
      .setUrlParams(Schema.Struct({ ...pageFields, state: Schema.optionalWith(ChangesetState, { exact: true }) }))
      .addSuccess(Page("ChangesetList", ActionableChangeset))
  )
  .add(
    post("capture", "/api/sessions/:session_id/changesets", "Capture a changeset")
      .setPath(session)
      .setPayload(ChangesetInput)
      .addSuccess(CaptureAnswer)
      .annotate(NeedsMachine, "session_id")
  ) {}
