import { field } from "@reins/base/domain/Field"
import { ChangesetId, SessionId, TurnId } from "@reins/base/domain/Ids"
import * as StateMachine from "@reins/base/domain/StateMachine"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"

export const ChangesetState = Schema.Literal("capturing", "ready", "failed").annotations({
  description:
    "`capturing`: the workspace is being read. `ready`: sealed. `failed`: the capture failed, and `diagnostics` gives the reason."
})
export type ChangesetState = typeof ChangesetState.Type

/** The moves of a changeset. */
export const changesetStates = /* @__PURE__ */ StateMachine.make<ChangesetState>("changeset", {
  capturing: ["ready", "failed"],
  ready: [],
  failed: []
})

export const ChangedFile = Schema.Struct({
  path: field(Schema.String, "The path from the root of the workspace."),
  old_path: field(
    Schema.optionalWith(Schema.String, { exact: true }),
    "The path in the base commit. Only for a file that was renamed."
  ),
  status: field(
    Schema.Literal("added", "modified", "deleted", "renamed", "type_changed"),
    "What happened to the file; `type_changed` as from a file to a symbolic link."
  ),
  mode: field(Schema.String, "The mode as git writes it, as in `100644`."),
  additions: field(Schema.Int, "The number of added lines; 0 for a binary file."),
  deletions: field(Schema.Int, "The number of deleted lines; 0 for a binary file."),
  binary: field(Schema.Boolean, "True when git shows no lines of the file.")
}).annotations({
  identifier: "ChangedFile",
  description: "One file that differs from the base commit. Additions and deletions are lines."
})
export type ChangedFile = typeof ChangedFile.Type

export const ChangesetOrigin = Schema.Literal("automatic", "explicit", "salvage").annotations({
  description:
    "`automatic`: captured at the end of a turn. `explicit`: asked for. `salvage`: captured before the executor was released."
})
export type ChangesetOrigin = typeof ChangesetOrigin.Type

export const Changeset = Schema.Struct({
  id: field(ChangesetId, "The id of the changeset."),
  session_id: field(SessionId, "The session whose work it is."),
  source_turn_id: field(Schema.NullOr(TurnId), "The turn that made the work; null when it was captured without one."),
  label: field(Schema.NullOr(Schema.String), "The name that was given to it; null for none."),
  origin: field(ChangesetOrigin, "What captured it."),
  state: field(ChangesetState, "Where the capture stands."),
  base_commit: field(
    Schema.NullOr(Schema.String),
    "The commit that the work is compared with; null until it is known."
  ),
  tree: field(Schema.NullOr(Schema.String), "The id of the git tree that holds the work; null until `ready`."),
  subject_digest: field(
    Schema.NullOr(Schema.String),
    "SHA-256 of the canonical manifest of the change: base commit, paths, modes, content digests. Null until `ready`."
  ),
  empty: field(Schema.Boolean, "True when nothing differs from the base commit."),
  file_count: field(Schema.Int, "The number of files that differ."),
  additions: field(Schema.Int, "The number of added lines in all files."),
  deletions: field(Schema.Int, "The number of deleted lines in all files."),
  files: field(Schema.Array(ChangedFile), "The files that differ, sorted by path."),
  diagnostics: field(
    Schema.Array(Schema.String),
    "Sentences about what was left out or went wrong; empty when there is nothing to tell."
  ),
  created_at: field(Timestamp, "The time at which the capture was asked for."),
  sealed_at: field(Schema.NullOr(Timestamp), "The time from which it cannot change; null until `ready`.")
}).annotations({
  identifier: "Changeset",
  description: "The work of a session at one moment: a git tree on the base commit."
})
export type Changeset = typeof Changeset.Type

export const ChangesetAction = Schema.Literal("apply", "deliver").annotations({
  description: "A command on a changeset that its caller can give."
})
export type ChangesetAction = typeof ChangesetAction.Type

/** A changeset as clients read it, with what they can do with it. */
export const ActionableChangeset = Schema.Struct({
  ...Changeset.fields,
  actions: field(
    Schema.Array(ChangesetAction),
    "What the caller can do with the changeset now: its state, the role and the scope of the credentials allow it. The session that it is applied to has a say of its own. Empty for credentials that may only read."
  )
}).annotations({
  identifier: "Changeset",
  description:
    "The work of a session at one moment, with what the caller can do with it: a git tree on the base commit."
})
export type ActionableChangeset = typeof ActionableChangeset.Type
