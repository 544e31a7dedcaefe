import { Schema } from "effect"
import { field } from "./Field.js"

/** The sorts of things that an agent asks leave for. */
export const SubjectKind = Schema.Literal(
  "command",
  "edit",
  "read",
  "fetch",
  "search",
  "tool",
  "delegate",
  "unknown"
).annotations({
  description:
    "`tool` is a tool by its name, `delegate` hands work to another agent. `unknown`: the agent does not say what it is."
})

const SubjectGap = Schema.Literal("cut", "masked", "unknown", "unplaced", "outside").annotations({
  description:
    "`cut`: a text or the list was cut. `masked`: something that looks like a secret is blanked. `unknown`: the agent has not told it. `unplaced`: the place of a change in its file is not known. `outside`: a path leads out of the files of the session, as through a link."
})
export type SubjectGap = typeof SubjectGap.Type

export const SubjectEdit = Schema.Struct({
  path: field(
    Schema.String,
    "The path below the files of the session. One that leads out of them is as the agent names it."
  ),
  old_text: field(
    Schema.NullOr(Schema.String),
    "The lines before, with up to three around the change. Null for a new file, and with a `line` of null where they are not known."
  ),
  new_text: field(Schema.NullOr(Schema.String), "The lines after, in the same way; null where the file is deleted."),
  line: field(
    Schema.NullOr(Schema.Int),
    "The number of the first line of both texts, once the edits before it are made; null where the place is not known."
  )
}).annotations({ identifier: "SubjectEdit", description: "A change of a file." })
export type SubjectEdit = typeof SubjectEdit.Type

export const ApprovalSubject = Schema.Struct({
  kind: field(SubjectKind, "What it is."),
  command: field(Schema.NullOr(Schema.String), "The command that would run; null for none."),
  cwd: field(Schema.NullOr(Schema.String), "The directory in which it would run; null where the agent names none."),
  url: field(Schema.NullOr(Schema.String), "The address that would be fetched; null for none."),
  tool: field(Schema.NullOr(Schema.String), "The name of the tool, for the kind `tool`; null for other kinds."),
  input: field(
    Schema.NullOr(Schema.String),
    "What else the input of the call says, as JSON; null for nothing, and for an edit."
  ),
  edits: field(
    Schema.Array(SubjectEdit),
    "The changes of files, each at its place: all of them for a text that is replaced everywhere. They are of at most 200 files."
  ),
  files: field(Schema.Int, "The number of files that would change."),
  additions: field(Schema.Int, "The number of lines that would be added, as far as they are known."),
  deletions: field(Schema.Int, "The number of lines that would be removed, as far as they are known."),
  complete: field(
    Schema.Boolean,
    "True when all of it stands here. Where it is false, a person needs one more look before they allow it."
  ),
  gaps: field(Schema.Array(SubjectGap), "What is missing; empty when it is complete."),
  digest: field(
    Schema.String,
    "`sha256:` and the digest of the whole, also of what was cut. An answer names it as `seen`."
  )
}).annotations({
  identifier: "ApprovalSubject",
  description:
    "What would happen if it were allowed. Each text has at most 65,536 characters, and all together at most 262,144. Secrets are blanked."
})
export type ApprovalSubject = typeof ApprovalSubject.Type
