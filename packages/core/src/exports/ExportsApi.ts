import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, NeedsMachine, read } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { TurnId } from "@reins/base/domain/Ids"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { Changeset } from "../changes/Changeset.js"
import { Interaction } from "../sessions/rows/Interaction.js"
import { Message } from "../sessions/rows/Message.js"
import { Session } from "../sessions/rows/Session.js"
import { ToolPayload } from "../sessions/rows/ToolCall.js"
import { Turn } from "../sessions/rows/Turn.js"
import { SessionUsage } from "../sessions/usage/Usage.js"

export const ExportFormat = Schema.Literal("json", "markdown").annotations({
  description: "The form of an export: `json` for programs, `markdown` for people."
})
export type ExportFormat = typeof ExportFormat.Type

/** Counts the shapes of an export in JSON. It grows when a reader of the old shape could misread the new one. */
export const exportVersion = 1

const ExportedSession = Session.omit("actions").annotations({
  identifier: "ExportedSession",
  description: "The session as it was when the export began."
})

export const ExportedTool = Schema.Struct({
  seq: field(Schema.Int, "The `seq` of the event `tool.completed` that holds the call."),
  turn_id: field(Schema.NullOr(TurnId), "The turn whose agent made the call; null for a call between turns."),
  recorded_at: field(Timestamp, "The time at which the call ended."),
  call: field(ToolPayload, "The whole call, with its input and output.")
}).annotations({ identifier: "ExportedTool", description: "A tool call of an agent that has ended." })
export type ExportedTool = typeof ExportedTool.Type

export const ExportedChangeset = Schema.Struct({
  ...Changeset.fields,
  diff: field(
    Schema.NullOr(Schema.String),
    "The unified diff against the base commit, within the limits of the endpoint of diffs. Null for an empty or unsealed changeset, and where " +
      "`diff_error` says why."
  ),
  diff_truncated: field(Schema.Boolean, "True when the diff does not show all of the changeset."),
  diff_error: field(
    Schema.NullOr(Schema.String),
    "The code of the error that kept the diff from being read; null for none."
  )
}).annotations({ identifier: "ExportedChangeset", description: "A changeset with its diff." })
export type ExportedChangeset = typeof ExportedChangeset.Type

export const SessionExport = Schema.Struct({
  format: field(Schema.Literal("reins.session"), "Tells the file apart from others."),
  version: field(Schema.Int, "The version of the shape of the file, now 1."),
  session: field(ExportedSession, "The session as it was when the export began."),
  usage: field(SessionUsage, "The tokens and the cost of the session."),
  turns: field(Schema.Array(Turn), "The turns, oldest first."),
  messages: field(Schema.Array(Message), "The messages, oldest first."),
  tools: field(
    Schema.Array(ExportedTool),
    "The tool calls of which the events are kept, oldest first. Messages have all calls, with shortened texts."
  ),
  interactions: field(Schema.Array(Interaction), "The questions of the agent with their answers, oldest first."),
  changesets: field(Schema.Array(ExportedChangeset), "The changesets, oldest first.")
}).annotations({
  identifier: "SessionExport",
  description:
    "All of a session in one file. Secrets are blanked as `[secret]`: credentials of connections, secrets of the project, and what looks like a key or a token."
})
export type SessionExport = typeof SessionExport.Type

export class ExportsApi extends HttpApiGroup.make("sessions").add(
  read("getExport", "/api/sessions/:session_id/export", "Export a session as one file")
    .setPath(idPath("session_id"))
    .setUrlParams(
      Schema.Struct({
        format: field(
          Schema.optionalWith(ExportFormat, { exact: true }),
          "The form of the file. When absent, `markdown` for a request that accepts `text/markdown` and not JSON, else `json`."
        )
      })
    )
    .addSuccess(SessionExport)
    .annotate(NeedsMachine, "session_id")
    .annotateContext(extension)
) {}
