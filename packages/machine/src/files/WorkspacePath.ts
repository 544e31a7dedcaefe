import { Either, Schema } from "effect"
import { pathNames } from "./NameText.js"

/** The refusal of a path, which is given back as the caller sent it. */
export class PathRefused extends Schema.TaggedError<PathRefused>()("PathRefused", {
  path: Schema.String,
  reason: Schema.Literal(
    "empty",
    "absolute",
    "traversal",
    "nul_byte",
    "backslash",
    "malformed",
    "segment_too_long",
    "too_long",
    "git_directory",
    "symlink",
    "hard_link",
    "special_file"
  )
}) {}

type Reason = PathRefused["reason"]

// Code points that HFS+ leaves out when it compares names. There `.g<U+200C>it` opens `.git`.
const ignoredByHfs = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/**
 * True for a name that some file system takes for `.git`: in any letter case, with the code points that HFS+ ignores,
 * as the NTFS short name, or with the dots, spaces and streams that NTFS drops.
 */
export const isGitName = (segment: string): boolean => {
  const folded = segment.replace(ignoredByHfs, "").normalize("NFKC").toLowerCase()
  return /^(\.git|git~[0-9]+)[\s.]*([:\\].*)?$/su.test(folded)
}

const segmentReason = (name: Buffer): Reason | null => {
  const segment = name.toString("utf8")
  if (segment === "") return "malformed"
  if (segment.includes("\\")) return "backslash"
  if (segment === "." || segment === "..") return "traversal"
  if (name.length > 255) return "segment_too_long"
  return isGitName(segment) ? "git_directory" : null
}

const wholeReason = (path: string): Reason | null => {
  if (path === "") return "empty"
  if (path.includes("\0")) return "nul_byte"
  if (path.startsWith("/") || /^[a-z]:\//i.test(path)) return "absolute"
  if (Buffer.from(path).toString() !== path) return "malformed"
  return Buffer.byteLength(path) > 4096 ? "too_long" : null
}

/**
 * The names of a workspace path, which stands as `pathText` writes it. The path is relative with `/` between components, and no component could lead elsewhere or into a
 * repository's own directory. Nothing is normalised: a path that is not plain already is refused.
 */
export const parseWorkspacePath = (path: string): Either.Either<ReadonlyArray<Buffer>, PathRefused> => {
  const names = pathNames(path)
  const reason = wholeReason(path) ?? names.map(segmentReason).find((found) => found !== null) ?? null
  return reason === null ? Either.right(names) : Either.left(new PathRefused({ path, reason }))
}
