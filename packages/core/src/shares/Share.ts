import { Actor } from "@reins/base/domain/Event"
import { field } from "@reins/base/domain/Field"
import { ChangesetId, SessionId, ShareId } from "@reins/base/domain/Ids"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { ChangedFile } from "../changes/Changeset.js"
import { AnswerPart, MessageRole, TextBlock } from "../sessions/rows/Message.js"
import { SessionActivity, SessionLifecycle } from "../sessions/rows/Session.js"

export const ShareInclude = Schema.Literal("changes", "reasoning", "tools").annotations({
  description:
    "A part of a session that a link shows beside the conversation and the plans. `changes`: the changesets with their diffs. `reasoning`: what the " +
    "agent thought. `tools`: inputs and outputs of tools, and images and files of the agent. Tools may have read any file."
})
export type ShareInclude = typeof ShareInclude.Type

export const ShareState = Schema.Literal("active", "expired", "revoked", "ended").annotations({
  description:
    "An `active` link can be read. It is `ended` because the one who shared the session may not share it any more."
})
export type ShareState = typeof ShareState.Type

export const Share = Schema.Struct({
  id: field(ShareId, "The id of the share."),
  session_id: field(SessionId, "The session that it shows."),
  includes: field(Schema.Array(ShareInclude), "What it shows beside the conversation and the plans."),
  state: field(ShareState, "Tells if the link can be read."),
  created_by: field(Actor, "The one who shared the session."),
  created_at: field(Timestamp, "The time at which it was made."),
  expires_at: field(Schema.NullOr(Timestamp), "The time from which it shows nothing; null for none."),
  revoked_at: field(Schema.NullOr(Timestamp), "The time at which it was taken back; null while it was not.")
}).annotations({ identifier: "Share", description: "A link with which anybody may read a session." })
export type Share = typeof Share.Type

export const CreatedShare = Schema.Struct({
  ...Share.fields,
  token: field(Schema.String, "The secret of the link, which is shown this once. It begins with `rsh_`."),
  url: field(
    Schema.String,
    "The page that shows the session. The token is behind `#`, which browsers send to no server."
  )
}).annotations({ identifier: "CreatedShare", description: "A new share with its link." })
export type CreatedShare = typeof CreatedShare.Type

export const SharedSession = Schema.Struct({
  title: field(Schema.NullOr(Schema.String), "The title; null for none."),
  provider_id: field(Schema.String, "The provider that runs it."),
  model: field(Schema.NullOr(Schema.String), "The model; null for the preference of its connection."),
  repository: field(Schema.NullOr(Schema.String), "The URL of the repository, without credentials; null for none."),
  ref: field(Schema.NullOr(Schema.String), "The branch or tag that was asked for; null for the default branch."),
  commit: field(Schema.NullOr(Schema.String), "The commit that the work began with; null until it is known."),
  lifecycle: field(SessionLifecycle, "Tells if the session takes work."),
  activity: field(SessionActivity, "What it is doing."),
  includes: field(Schema.Array(ShareInclude), "The parts that the link shows beside the conversation and the plans."),
  expires_at: field(Schema.NullOr(Timestamp), "The time from which the link shows nothing; null for none."),
  event_watermark: field(
    Schema.Int,
    "Grows with each event of the session. Wait for a greater one with `GET /api/shared/watermark`."
  ),
  created_at: field(Timestamp, "The time at which the session was made."),
  updated_at: field(Timestamp, "The time of its last change.")
}).annotations({ identifier: "SharedSession", description: "A session as a link shows it." })
export type SharedSession = typeof SharedSession.Type

const SharedFile = Schema.Struct({
  type: field(Schema.Literal("file"), "Tells the kinds of blocks apart."),
  path: field(Schema.String, "The path of the file, which the link does not show."),
  size: field(Schema.Int, "Its size in bytes.")
}).annotations({ identifier: "SharedFile", description: "A file that came with a message." })

export const SharedMessage = Schema.Struct({
  ordinal: field(Schema.Int, "The number of the message in its session. Messages that links do not show leave gaps."),
  role: field(MessageRole, "Who speaks."),
  content: field(Schema.Array(Schema.Union(TextBlock, SharedFile)), "The text, and the files by their names."),
  parts: field(
    Schema.Array(AnswerPart),
    "What the agent said and did. Without `tools` a call has its kind and state alone."
  ),
  created_at: field(Timestamp, "The time at which it was accepted, or completed by the agent.")
}).annotations({ identifier: "SharedMessage", description: "A message as a link shows it." })
export type SharedMessage = typeof SharedMessage.Type

export const SharedChangeset = Schema.Struct({
  id: field(ChangesetId, "The id of the changeset."),
  label: field(Schema.NullOr(Schema.String), "The name that was given to it; null for none."),
  file_count: field(Schema.Int, "The number of files that differ."),
  additions: field(Schema.Int, "The number of added lines in all files."),
  deletions: field(Schema.Int, "The number of deleted lines in all files."),
  files: field(Schema.Array(ChangedFile), "The files that differ, sorted by path."),
  created_at: field(Timestamp, "The time at which the capture was asked for.")
}).annotations({ identifier: "SharedChangeset", description: "A sealed changeset as a link shows it." })
export type SharedChangeset = typeof SharedChangeset.Type

export const SharedDiff = Schema.Struct({
  diff: field(Schema.String, "The unified diff against the commit that the work began with."),
  truncated: field(Schema.Boolean, "True when the diff does not show all of the changeset.")
}).annotations({ identifier: "SharedDiff", description: "What changed, as text." })
export type SharedDiff = typeof SharedDiff.Type
