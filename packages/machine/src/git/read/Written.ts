import { lstat } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { requireTrusted } from "../../repository/Repository.js"
import { rawChanges, shownName } from "../../repository/read/Changes.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"

/** Two captures of a workspace, and a time between them in milliseconds since 1970. */
export interface WrittenRequest {
  readonly gitDir: string
  readonly workTree: string
  /** The trees of the older and of the newer capture. */
  readonly from: string
  readonly to: string
  readonly before: number
}

/** The longest tick of a kernel, by which the time of a file may be earlier than the clock was when it was written. */
const tickMillis = 10

/** See `Git.writtenBefore`. */
export const writtenBefore = Effect.fnUntraced(function* (options: GitOptionsShape, request: WrittenRequest) {
  yield* requireTrusted(request.gitDir, request.from, request.to)
  const changes = yield* rawChanges(options, request.gitDir, request.from, request.to)
  const root = Buffer.from(join(request.workTree, "/"))
  const older = yield* Effect.forEach(
    changes,
    ({ path }) =>
      Effect.promise(() =>
        lstat(Buffer.concat([root, Buffer.from(path, "latin1")])).then(
          // The writer of a file can choose its other times.
          ({ ctimeMs }) => (ctimeMs < request.before - tickMillis ? [shownName(path)] : []),
          () => []
        )
      ),
    { concurrency: 8 }
  )
  return older.flat()
})
