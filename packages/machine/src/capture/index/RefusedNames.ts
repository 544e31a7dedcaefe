import { join } from "node:path"
import { Effect } from "effect"
import { git } from "../../repository/run/GitCommand.js"
import { GitError } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"
import type { TreeFile } from "./Capture.js"

// Finds the names that git holds in no index, as those that a file system of macOS or Windows takes for a git directory.

/** A name that git refuses has one of these: the letters of `.git`, a short name of Windows, or a character that macOS passes over. */
const isDoubtful = (latin1: string): boolean => /git|[~\\]|\xe2[\x80\x81]|\xef\xbb/i.test(latin1)

const refusal = new GitError({ kind: "internal", message: "git refuses to hold one of the names." })

interface Place {
  readonly options: GitOptionsShape
  readonly gitDir: string
  readonly folder: string
}

type Names = ReadonlyArray<readonly [path: string, file: TreeFile]>

const hold = ({ folder, gitDir, options }: Place, names: Names): Effect.Effect<void, GitError> =>
  Effect.flatMap(
    git({
      args: ["update-index", "-z", "--index-info"],
      gitDir,
      indexFile: join(folder, "names"),
      stdin: Buffer.from(names.map(([path, { id, mode }]) => `${mode} ${id}\t${path}\0`).join(""), "latin1"),
      timeoutMs: options.localTimeoutMs
    }),
    // A name that git refuses is skipped with a remark and exit code 0.
    (output) => (output.stderr.includes("Ignoring path ") ? Effect.fail(refusal) : Effect.void)
  )

// git does not say reliably which names it refuses, so they are halved until the few are found.
const find = (place: Place, names: Names): Effect.Effect<ReadonlyArray<string>, GitError> =>
  hold(place, names).pipe(
    Effect.as([]),
    Effect.catchIf(
      (error) => error.kind !== "timeout",
      (): Effect.Effect<ReadonlyArray<string>, GitError> => {
        if (names.length === 1) return Effect.succeed(names.map(([path]) => path))
        const half = Math.ceil(names.length / 2)
        return Effect.zipWith(find(place, names.slice(0, half)), find(place, names.slice(half)), (left, right) => [
          ...left,
          ...right
        ])
      }
    )
  )

/** Those of the paths (latin1) that git does not take. No process is started where every name is an ordinary one. */
export const refusedNames = (place: Place, names: Names): Effect.Effect<ReadonlyArray<string>, GitError> => {
  const doubtful = names.filter(([path]) => isDoubtful(path))
  return doubtful.length === 0 ? Effect.succeed([]) : find(place, doubtful)
}
