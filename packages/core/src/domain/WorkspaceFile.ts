import { Schema } from "effect"
import { UploadId } from "./Ids.js"
import { Timestamp } from "./Timestamp.js"

/** An entry of a directory. `other` is a FIFO, a socket or a device; a symbolic link is listed and never followed. */
export const FileItem = Schema.Struct({
  name: Schema.String,
  path: Schema.String,
  type: Schema.Literal("file", "directory", "symlink", "other"),
  /** In bytes. */
  size: Schema.Int,
  /** Permission bits in octal, as in `0644`. */
  mode: Schema.String,
  modified_at: Timestamp
}).annotations({ identifier: "FileItem" })
export type FileItem = typeof FileItem.Type

/** The entries of one directory, sorted by name. `truncated` tells that there are more. */
export const FileList = Schema.Struct({
  items: Schema.Array(FileItem),
  truncated: Schema.Boolean
}).annotations({ identifier: "FileList" })
export type FileList = typeof FileList.Type

/** The content of a file. `size` and `digest` are those of the whole file, also when `content` is cut. A file above 1 GiB has no digest. */
export const FileContent = Schema.Struct({
  path: Schema.String,
  encoding: Schema.Literal("utf-8", "base64"),
  content: Schema.String,
  size: Schema.Int,
  digest: Schema.NullOr(Schema.String),
  truncated: Schema.Boolean
}).annotations({ identifier: "FileContent" })
export type FileContent = typeof FileContent.Type

/** A file that was put into the workspace. Messages of the session may attach it by its `upload_id`. */
export const UploadedFile = Schema.Struct({
  upload_id: UploadId,
  file: Schema.Struct({ path: Schema.String, size: Schema.Int, digest: Schema.String })
}).annotations({ identifier: "UploadedFile" })
export type UploadedFile = typeof UploadedFile.Type
