import { join } from "node:path"
import { Effect } from "effect"
import { attributesOf, isGiven } from "../../capture/attributes/Attributes.js"
import { attributesAmong, treeRecords } from "../../capture/attributes/TreeAttributes.js"
import { withCapturing } from "../../capture/index/Capturing.js"
import { requireTrusted } from "../../repository/Repository.js"
import { GitError } from "../../repository/run/GitError.js"
import type { GitOptionsShape } from "../../repository/run/GitOptions.js"

/** A filter that the attributes of a tree name, and the number of files that it covers. */
export interface TreeFilter {
  readonly filter: string
  readonly files: number
}

/** A commit or a tree of a trusted directory. */
export interface FiltersRequest {
  readonly gitDir: string
  readonly tree: string
}

/** Above it no file is asked for its filter. */
const maxFiles = 200_000

const maxFilters = 20

const tooMany = new GitError({
  kind: "conflict",
  message: `The tree has more than ${maxFiles} files, so their filters are not counted.`
})

/** See `Git.filters`. */
export const filters = Effect.fnUntraced(function* (
  options: GitOptionsShape,
  { gitDir, tree }: FiltersRequest
): Effect.fn.Return<ReadonlyArray<TreeFilter>, GitError> {
  yield* requireTrusted(gitDir, tree)
  const entries = yield* treeRecords(options, gitDir, tree)
  const files = yield* attributesAmong(options, gitDir, entries)
  // Most attributes are about line ends, and a look at every file takes longer than all else.
  if (!files.some(({ text }) => Buffer.from(text).includes("filter"))) return []
  if (entries.length > maxFiles) return yield* tooMany
  const paths = entries.flatMap(({ mode, path }) => (mode.startsWith("100") ? [path] : []))
  const found = yield* withCapturing(options, { gitDir, workTree: gitDir, base: tree }, false, ({ folder }) =>
    attributesOf(options, { place: join(folder, "filters"), files, paths, names: ["filter"] })
  )
  const counts = new Map<string, number>()
  for (const path of paths) {
    const filter = found.get(path)?.get("filter")
    if (isGiven(filter)) counts.set(filter, (counts.get(filter) ?? 0) + 1)
  }
  return [...counts]
    .map(([filter, count]) => ({ filter, files: count }))
    .sort((left, right) => right.files - left.files || (left.filter < right.filter ? -1 : 1))
    .slice(0, maxFilters)
})
