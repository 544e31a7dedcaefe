import { turnOfTheLoop } from "@reins/base/base/EventLoop"
import { fitsPath } from "@reins/base/base/Globs"
import { Effect } from "effect"
import { type CareRow, policyOf } from "./CareStore.js"

/** A longer path is for a person to deliver, whatever its pattern. No system takes a file of such a path. */
const longestPath = 4_096

/** So many characters of paths are compared before others are served. */
const atOnce = 64 * 1024

/** True when one of the paths fits one of the patterns. */
export const anyFits = Effect.fnUntraced(function* (
  paths: ReadonlyArray<string>,
  patterns: ReadonlyArray<string>
): Effect.fn.Return<boolean> {
  let compared = 0
  for (const fits of patterns.map(fitsPath))
    for (const path of paths) {
      if (path.length > longestPath || fits(path)) return true
      compared += path.length
      if (compared < atOnce) continue
      compared = 0
      yield* turnOfTheLoop
    }
  return false
})

/** True when one of the paths is only for a person to deliver. */
export const touchesProtected = (paths: ReadonlyArray<string>, row: CareRow): Effect.Effect<boolean> =>
  anyFits(paths, policyOf(row).protected_paths)
