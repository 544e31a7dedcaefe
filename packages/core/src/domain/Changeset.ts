import { Schema } from "effect"
import { ChangesetId, SessionId, TurnId } from "./Ids.js"
import * as StateMachine from "./StateMachine.js"
import { Timestamp } from "./Timestamp.js"

/** `capturing`: the workspace is being read. `ready`: sealed. `failed`: the capture failed, and `diagnostics` gives the reason. */
export const ChangesetState = Schema.Literal("capturing", "ready", "failed")
export type ChangesetState = typeof ChangesetState.Type

/** The moves of a changeset. */
export const changesetStates = /* @__PURE__ */ StateMachine.make<ChangesetState>("changeset", {
  capturing: ["ready", "failed"],
  ready: [],
  failed: []
})

/** One file that differs from the base commit. Additions and deletions are lines. */
export const ChangedFile = Schema.Struct({
  path: Schema.String,
  old_path: Schema.optionalWith(Schema.String, { exact: true }),
  status: Schema.Literal("added", "modified", "deleted", "renamed", "type_changed"),
  mode: Schema.String,
  additions: Schema.Int,
  deletions: Schema.Int,
  binary: Schema.Boolean
}).annotations({ identifier: "ChangedFile" })
export type ChangedFile = typeof ChangedFile.Type

/** `automatic`: captured at the end of a turn. `explicit`: asked for. `salvage`: captured before the executor was released. */
export const ChangesetOrigin = Schema.Literal("automatic", "explicit", "salvage")
export type ChangesetOrigin = typeof ChangesetOrigin.Type

/** The work of a session at one moment: a git tree on the base commit. */
export const Changeset = Schema.Struct({
  id: ChangesetId,
  session_id: SessionId,
  source_turn_id: Schema.NullOr(TurnId),
  label: Schema.NullOr(Schema.String),
  origin: ChangesetOrigin,
  state: ChangesetState,
  base_commit: Schema.NullOr(Schema.String),
  tree: Schema.NullOr(Schema.String),
  /** SHA-256 of the canonical manifest of the change: base commit, paths, modes, content digests. Null until `ready`. */
  subject_digest: Schema.NullOr(Schema.String),
  empty: Schema.Boolean,
  file_count: Schema.Int,
  additions: Schema.Int,
  deletions: Schema.Int,
  files: Schema.Array(ChangedFile),
  diagnostics: Schema.Array(Schema.String),
  created_at: Timestamp,
  sealed_at: Schema.NullOr(Timestamp)
})
export type Changeset = typeof Changeset.Type

/** The commands on a changeset that its caller can give. */
export const ChangesetAction = Schema.Literal("apply", "deliver")
export type ChangesetAction = typeof ChangesetAction.Type

/** A changeset as clients read it, with what they can do with it. */
export const ActionableChangeset = Schema.Struct({
  ...Changeset.fields,
  actions: Schema.Array(ChangesetAction).annotations({
    description:
      "What the caller can do with the changeset now: its state, the role and the scope of the credentials allow it. The session that it is applied " +
      "to has a say of its own. Empty for credentials that may only read."
  })
}).annotations({ identifier: "Changeset" })
export type ActionableChangeset = typeof ActionableChangeset.Type
