import { HttpApiGroup } from "@effect/platform"
import { idPath, NeedsMachine, optional, post, read, TakesFile } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { Schema } from "effect"
import { FileContent, FileList, UploadedFile } from "./WorkspaceFile.js"

export const FileUpload = Schema.Struct({
  path: field(
    optional(Schema.String),
    "The path from the root of the workspace, without a leading slash. A file without one is an attachment."
  ),
  name: field(
    optional(Schema.String),
    "The name of an attachment, without a folder. An attachment is beside the workspace: the agent can read it, and no changeset holds it."
  ),
  content: field(Schema.String, "The content, in the form that `encoding` says."),
  encoding: field(optional(Schema.Literal("utf-8", "base64")), "The form of `content`; `utf-8` when absent."),
  mode: field(
    optional(Schema.String.pipe(Schema.pattern(/^0?[0-7]{3}$/))),
    "Permission bits in octal, as in `0644`. When absent, those of the file that is replaced, else `0644`. Not for an attachment."
  ),
  expected_digest: field(
    optional(Schema.String.pipe(Schema.pattern(/^(absent|sha256:[0-9a-f]{64})$/))),
    "Lets the file be written only over the file with this digest, or with `absent` only where there is none. Not for an attachment."
  )
}).annotations({
  identifier: "FileUpload",
  description: "A file that is put into the workspace of a session, or beside it, whole."
})
export type FileUpload = typeof FileUpload.Type

const session = idPath("session_id")

export class FilesApi extends HttpApiGroup.make("sessions")
  .add(
    post("uploadFile", "/api/sessions/:session_id/file-uploads", "Put a file into the workspace, or beside it", "act")
      .setPath(session)
      .setPayload(FileUpload)
      .addSuccess(UploadedFile)
      .annotate(NeedsMachine, "session_id")
      .annotate(TakesFile, true)
  )
  .add(
    read("listFiles", "/api/sessions/:session_id/files", "List a directory of the workspace")
      .setPath(session)
      .setUrlParams(Schema.Struct({ path: Schema.optionalWith(Schema.String, { default: () => "" }) }))
      .addSuccess(FileList)
      .annotate(NeedsMachine, "session_id")
  )
  .add(
    read("getFile", "/api/sessions/:session_id/files/content", "Read a file of the workspace")
      .setPath(session)
      .setUrlParams(Schema.Struct({ path: Schema.String }))
      .addSuccess(FileContent)
      .annotate(NeedsMachine, "session_id")
  ) {}
