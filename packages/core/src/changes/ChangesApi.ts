import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, NeedsMachine, optional, post, read } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { SessionId } from "@reins/base/domain/Ids"
import { integer } from "@reins/base/domain/Query"
import { Schema } from "effect"
import { OperationRef } from "../jobs/Job.js"
import { Application, ApplicationStrategy } from "./Application.js"
import { ActionableChangeset, ChangedFile } from "./Changeset.js"

const Omission = Schema.Struct({
  path: field(Schema.String, "The path of the file."),
  additions: field(Schema.Int, "The number of added lines that the diff does not show, or shows in part."),
  deletions: field(Schema.Int, "The number of deleted lines that the diff does not show, or shows in part.")
}).annotations({
  identifier: "DiffOmission",
  description: "A file of which a diff shows only the beginning, or nothing."
})

export const Diff = Schema.Struct({
  diff: field(
    Schema.String,
    "The unified diff, as git writes it. Bytes that are not UTF-8 stand in octal, as in `caf\\351`."
  ),
  files: field(Schema.Array(ChangedFile), "The files of the diff, also those that it leaves out."),
  truncated: field(
    Schema.Boolean,
    "True when the diff was cut at the limits `diff_bytes`, `diff_file_bytes` or `diff_files`."
  ),
  omitted: field(
    Schema.Array(Omission),
    "The files of which the diff does not show all, in its order. Empty unless `truncated`."
  ),
  subject_digest: field(Schema.String, "The digest of the changeset.")
}).annotations({ identifier: "Diff", description: "What changed, as text." })
export type Diff = typeof Diff.Type

export const ChangesetFiles = Schema.Struct({
  items: field(
    Schema.optionalWith(Schema.Array(ChangedFile), { exact: true }),
    "The changed files. Absent with `path`."
  ),
  path: field(Schema.optionalWith(Schema.String, { exact: true }), "The path of the file. Only with `path`."),
  encoding: field(
    Schema.optionalWith(Schema.Literal("utf-8", "base64"), { exact: true }),
    "The form of `content`: `base64` for a file that is no UTF-8 text. Only with `path`."
  ),
  content: field(
    Schema.optionalWith(Schema.String, { exact: true }),
    "The content, from the start of the file. Only with `path`."
  ),
  size: field(
    Schema.optionalWith(Schema.Int, { exact: true }),
    "The size of the whole file in bytes. Only with `path`."
  ),
  digest: field(
    Schema.optionalWith(Schema.String, { exact: true }),
    "The SHA-256 of the whole file, as in `sha256:<hex>`. Only with `path`."
  ),
  truncated: field(
    Schema.optionalWith(Schema.Boolean, { exact: true }),
    "True when `content` is cut at the limit `file_read_bytes`. Only with `path`."
  )
}).annotations({
  identifier: "ChangesetFiles",
  description: "The list of changed files, or with `path` the content of that file."
})
export type ChangesetFiles = typeof ChangesetFiles.Type

export const ApplicationInput = Schema.Struct({
  target_session_id: field(SessionId, "The session whose workspace is changed; it may be that of the changeset."),
  strategy: field(optional(ApplicationStrategy), "How the changes are brought in; `three_way` when absent."),
  dry_run: field(optional(Schema.Boolean), "True only reports and writes nothing; false when absent.")
}).annotations({ identifier: "ApplicationInput", description: "Where a changeset is to be applied, and how." })
export type ApplicationInput = typeof ApplicationInput.Type

export const ApplicationAnswer = Schema.Struct({
  operation: field(OperationRef, "The operation that does the work."),
  application: field(Application, "The application as it is now."),
  event_watermark: field(
    Schema.Int,
    "The `seq` of the newest event of the target session, whose events tell how the application ends."
  )
}).annotations({ identifier: "ApplicationAnswer", description: "The application, and the operation that works on it." })
export type ApplicationAnswer = typeof ApplicationAnswer.Type

const changeset = idPath("changeset_id")

const against = field(
  Schema.optionalWith(Schema.String, { exact: true }),
  "Another sealed changeset of the session, by its id: what differs from it, in the place of what differs from the base commit."
)

export class ChangesetsApi extends HttpApiGroup.make("changesets")
  .add(
    read("get", "/api/changesets/:changeset_id", "Read a changeset").setPath(changeset).addSuccess(ActionableChangeset)
  )
  .add(
    read("getDiff", "/api/changesets/:changeset_id/diff", "The diff of a changeset")
      .setPath(changeset)
      .setUrlParams(
        Schema.Struct({
          path: field(
            Schema.optionalWith(Schema.String, { exact: true }),
            "A file or a folder, by its path before or after the change. When absent, all files."
          ),
          context: Schema.optionalWith(integer({ min: 0, max: 1000 }), { exact: true }),
          against
        })
      )
      .addSuccess(Diff)
      .annotate(NeedsMachine, "changeset_id")
  )
  .add(
    read("listFiles", "/api/changesets/:changeset_id/files", "The changed files, or the content of one")
      .setPath(changeset)
      .setUrlParams(Schema.Struct({ path: Schema.optionalWith(Schema.String, { exact: true }), against }))
      .addSuccess(ChangesetFiles)
      .annotate(NeedsMachine, "changeset_id")
  )
  .add(
    post("apply", "/api/changesets/:changeset_id/applications", "Apply a changeset to the workspace of a session")
      .setPath(changeset)
      .setPayload(ApplicationInput)
      .addSuccess(ApplicationAnswer)
  ) {}

export class ApplicationsApi extends HttpApiGroup.make("applications").add(
  read("get", "/api/applications/:application_id", "Read an application")
    .setPath(idPath("application_id"))
    .addSuccess(Application)
    .annotateContext(extension)
) {}
