import { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import type { FileDigestMismatch, FileError } from "@reins/machine/files/Files"
import type { PathRefused } from "@reins/machine/files/WorkspacePath"
import { ParseResult, Schema } from "effect"
import { storageError } from "../store/StorageFault.js"

/** The failures of a request for a file of a workspace. */
export type FileFailure =
  | RequestInvalid
  | ReinsError<"not_found" | "executor_unavailable" | "invalid_transition" | "waiting_capacity">

/** A field of a request, in its query or its body, that does not hold what it should. `why` ends the sentence that says so. */
export const invalid = (part: "query" | "body", field: string, why: string, input: string): RequestInvalid =>
  new RequestInvalid({ loc: [part, field], issue: new ParseResult.Type(Schema.String.ast, input, why), input })

const refusals: Record<PathRefused["reason"], string> = {
  empty: "the path is empty",
  absolute: "the path has to be relative to the workspace",
  traversal: "the path must not hold . or .. as a component",
  nul_byte: "the path must not hold a NUL byte",
  backslash: "the path must not hold a backslash; components are parted by /",
  malformed: "the path must not hold empty components or characters that UTF-8 cannot hold",
  segment_too_long: "a component of the path may have 255 bytes",
  too_long: "the path may have 4096 bytes",
  git_directory: "the directory of a git repository is not reachable",
  symlink: "the path leads over a symbolic link, which is not followed",
  hard_link: "it is a hard link to a file outside the workspace",
  special_file: "this is no regular file"
}

/** The answer to a request whose file cannot be read or written. A wrong path makes the request malformed. `part` of the request holds the path. */
export const failureOf = (part: "query" | "body", error: FileError): FileFailure => {
  switch (error._tag) {
    case "PathRefused":
      return invalid(part, "path", refusals[error.reason], error.path)
    case "NotAFile":
      return invalid(part, "path", "this is a directory", error.path)
    case "NotADirectory":
      return invalid(part, "path", "a component of the path that has to be a directory is none", error.path)
    case "FileNotFound":
      return new ReinsError({
        code: "not_found",
        message: "Nothing is at this path in the workspace.",
        details: { path: error.path }
      })
    case "FileAccessFailed":
      if (error.reason === "disk_full" || error.reason === "read_only") return storageError(error.reason)
      return new ReinsError({
        code: "executor_unavailable",
        message:
          error.reason === "denied"
            ? "The permissions of the file or its directory refuse it. Change them with the agent."
            : "The file system failed. Try again, or tell the operator.",
        details: { path: error.path, reason: error.reason }
      })
  }
}

/** The refusal of an upload that expected another file at its path. */
export const digestConflict = (mismatch: FileDigestMismatch): ReinsError<"version_conflict"> =>
  new ReinsError({
    code: "version_conflict",
    message: "Another file is at this path than was expected. Read it again and repeat the upload.",
    details: { path: mismatch.path, expected_digest: mismatch.expected, actual_digest: mismatch.actual }
  })
