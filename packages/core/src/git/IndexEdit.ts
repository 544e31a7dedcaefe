import { Effect } from "effect"
import type { TreeFile } from "./Capture.js"
import { git, noObject } from "./GitCommand.js"
import { GitError } from "./GitError.js"
import type { GitOptionsShape } from "./GitOptions.js"

interface Edit {
  readonly path: string
  readonly line: string
}

const removals = (from: ReadonlyMap<string, TreeFile>, to: ReadonlyMap<string, TreeFile>): ReadonlyArray<Edit> =>
  [...from.keys()].filter((path) => !to.has(path)).map((path) => ({ path, line: `0 ${noObject}\t${path}\0` }))

const additions = (from: ReadonlyMap<string, TreeFile>, to: ReadonlyMap<string, TreeFile>): ReadonlyArray<Edit> =>
  [...to]
    .filter(([path, file]) => {
      const old = from.get(path)
      return old === undefined || old.id !== file.id || old.mode !== file.mode
    })
    .map(([path, file]) => ({ path, line: `${file.mode} ${file.id}\t${path}\0` }))

const refusal = new GitError({ kind: "internal", message: "git refuses to hold one of the names." })

const apply = (
  options: GitOptionsShape,
  gitDir: string,
  index: string,
  edits: ReadonlyArray<Edit>
): Effect.Effect<void, GitError> =>
  edits.length === 0
    ? Effect.void
    : Effect.flatMap(
        git({
          args: ["update-index", "-z", "--index-info"],
          gitDir,
          indexFile: index,
          stdin: Buffer.from(edits.map((edit) => edit.line).join(""), "latin1"),
          timeoutMs: options.localTimeoutMs
        }),
        // A name that git refuses is skipped with a remark and exit code 0.
        (output) => (output.stderr.includes("Ignoring path ") ? Effect.fail(refusal) : Effect.void)
      )

// git does not say reliably which names it refuses, so the edits are halved until the few are found.
const applyOrFind = (
  options: GitOptionsShape,
  gitDir: string,
  index: string,
  edits: ReadonlyArray<Edit>
): Effect.Effect<ReadonlyArray<string>, GitError> =>
  apply(options, gitDir, index, edits).pipe(
    Effect.as([]),
    Effect.catchIf(
      (error) => error.kind !== "timeout",
      (): Effect.Effect<ReadonlyArray<string>, GitError> => {
        if (edits.length === 1) return Effect.succeed(edits.map((edit) => edit.path))
        const half = Math.ceil(edits.length / 2)
        return Effect.zipWith(
          applyOrFind(options, gitDir, index, edits.slice(0, half)),
          applyOrFind(options, gitDir, index, edits.slice(half)),
          (left, right) => [...left, ...right]
        )
      }
    )
  )

/** Changes an index that holds `from` to hold `to` (latin1 paths). `refused` names the paths that git does not take, which are left out. */
export const editIndex = (
  options: GitOptionsShape,
  gitDir: string,
  index: string,
  from: ReadonlyMap<string, TreeFile>,
  to: ReadonlyMap<string, TreeFile>
): Effect.Effect<{ readonly edited: boolean; readonly refused: ReadonlyArray<string> }, GitError> => {
  const [gone, added] = [removals(from, to), additions(from, to)]
  return Effect.map(
    Effect.zipRight(
      // Removals come first, so that a file may take the place of a directory, or a directory that of a file.
      apply(options, gitDir, index, gone),
      applyOrFind(options, gitDir, index, added)
    ),
    (refused) => ({ edited: gone.length + added.length > 0, refused })
  )
}
