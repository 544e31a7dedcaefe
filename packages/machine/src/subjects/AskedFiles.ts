import { posix } from "node:path"
import type { Effect } from "effect"

/** A file as it stands when an agent asks. `outside` leads out of the files, as through a link; `unread` is no text, is too large or cannot be read. */
export type FoundFile =
  | { readonly is: "text"; readonly text: string }
  | { readonly is: "absent" }
  | { readonly is: "outside" }
  | { readonly is: "unread" }

/** The files of a session, for the questions of its agent. */
export interface AskedFiles {
  /** The absolute paths by which the agent may name their directory. */
  readonly roots: ReadonlyArray<string>
  /** Reads the file at a path below them. */
  readonly read: (path: string) => Effect.Effect<FoundFile>
}

/** The path below the files of a session, `.` for their directory; undefined for one that leads out of them. */
export type SessionPathOf = (path: string) => string | undefined

export const sessionPathOf =
  (roots: ReadonlyArray<string>): SessionPathOf =>
  (path) => {
    for (const root of roots) {
      const found = posix.relative(root, posix.resolve(root, path))
      if (found !== ".." && !found.startsWith("../")) return found === "" ? "." : found
    }
    return undefined
  }
