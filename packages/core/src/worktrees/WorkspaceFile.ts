import { field } from "@reins/base/domain/Field"
import { UploadId } from "@reins/base/domain/Ids"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { UploadPlace } from "@reins/base/domain/UploadPlace"
import { Schema } from "effect"

export const FileItem = Schema.Struct({
  name: field(Schema.String, "Its name in the directory."),
  path: field(Schema.String, "Its path from the root of the workspace."),
  type: field(Schema.Literal("file", "directory", "symlink", "other"), "What it is."),
  size: field(Schema.Int, "Its size in bytes."),
  mode: field(Schema.String, "Permission bits in octal, as in `0644`."),
  modified_at: field(Timestamp, "The time of its last change.")
}).annotations({
  identifier: "FileItem",
  description:
    "An entry of a directory. `other` is a FIFO, a socket or a device; a symbolic link is listed and never followed."
})
export type FileItem = typeof FileItem.Type

export const FileList = Schema.Struct({
  items: field(Schema.Array(FileItem), "The entries."),
  truncated: field(Schema.Boolean, "True when there are more.")
}).annotations({ identifier: "FileList", description: "The entries of one directory, sorted by name." })
export type FileList = typeof FileList.Type

export const FileContent = Schema.Struct({
  path: field(Schema.String, "Its path from the root of the workspace."),
  encoding: field(
    Schema.Literal("utf-8", "base64"),
    "The form of `content`: `base64` for a file that is no UTF-8 text."
  ),
  content: field(Schema.String, "The content, from the start of the file."),
  size: field(Schema.Int, "The size of the whole file in bytes, also when `content` is cut."),
  digest: field(
    Schema.NullOr(Schema.String),
    "The SHA-256 of the whole file, as in `sha256:<hex>`, also when `content` is cut. Null for a file above 1 GiB."
  ),
  truncated: field(Schema.Boolean, "True when `content` is cut at the limit `file_read_bytes`.")
}).annotations({ identifier: "FileContent", description: "The content of a file." })
export type FileContent = typeof FileContent.Type

export const UploadedFile = Schema.Struct({
  upload_id: field(UploadId, "Messages of the session may attach the file by it."),
  file: field(
    Schema.Struct({
      place: field(UploadPlace, "The place of the file."),
      path: field(Schema.String, "Its path from the root of the workspace; the name of an attachment."),
      size: field(Schema.Int, "Its size in bytes."),
      digest: field(Schema.String, "Its SHA-256, as in `sha256:<hex>`.")
    }),
    "The file as it was written."
  )
}).annotations({ identifier: "UploadedFile", description: "A file that was put into the workspace, or beside it." })
export type UploadedFile = typeof UploadedFile.Type
