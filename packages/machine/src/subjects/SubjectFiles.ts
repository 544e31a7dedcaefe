import { realpath } from "node:fs/promises"
import { join, relative } from "node:path"
import { Effect } from "effect"
import { Files } from "../files/Files.js"
import type { AskedFiles, FoundFile } from "./AskedFiles.js"

/** The largest file in which the place of a change is looked for, in bytes. */
const mostBytes = 4 * 1024 * 1024

/** The directory of the files of a session. */
interface FilesPlace {
  readonly workTree: string
  /** A directory above it that is there before it is. A link may lead to it. */
  readonly above: string
  /** The path by which a sandboxed agent knows the files. */
  readonly sandboxed: string
}

/** Gives the files of a session for the questions of its agent, which may know their directory by several paths. */
export const subjectFiles = Effect.map(Files, (files) => ({ above, sandboxed, workTree }: FilesPlace) => {
  const read: AskedFiles["read"] = (path) =>
    files.read(workTree, path, mostBytes).pipe(
      Effect.map(
        ({ content, encoding, truncated }): FoundFile =>
          truncated || encoding !== "utf-8" ? { is: "unread" } : { is: "text", text: content }
      ),
      Effect.catchTags({
        FileNotFound: () => Effect.succeed<FoundFile>({ is: "absent" }),
        PathRefused: () => Effect.succeed<FoundFile>({ is: "outside" })
      }),
      Effect.orElseSucceed((): FoundFile => ({ is: "unread" }))
    )
  return Effect.tryPromise(() => realpath(above)).pipe(
    Effect.orElseSucceed(() => above),
    Effect.map((real): AskedFiles => {
      const roots = new Set([workTree, join(real, relative(above, workTree)), sandboxed])
      return { roots: [...roots], read }
    })
  )
})
