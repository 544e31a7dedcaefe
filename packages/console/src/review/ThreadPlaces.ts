import type { RequestThread } from "@reins/client"
import { type FileDiff, placeKey, placeOf } from "./DiffRows.js"

/** The threads of the forge by the line that each is about. */
export type ThreadsBeside = ReadonlyMap<string, ReadonlyArray<RequestThread>>

const keyOf = ({ line, outdated, path, side }: RequestThread): string | undefined =>
  outdated || path === null || line === null
    ? undefined
    : placeKey({ path, number: line, side: side === "old" ? "before" : "after" })

/** The threads beside the lines of a diff, and the number of those that are about none of them. */
export const placedThreads = (
  threads: ReadonlyArray<RequestThread>,
  files: ReadonlyArray<FileDiff>
): { readonly beside: ThreadsBeside; readonly others: number } => {
  const beside = new Map<string, Array<RequestThread>>()
  if (threads.length === 0) return { beside, others: 0 }
  const shown = new Set(
    files.flatMap(({ hunks, path }) =>
      hunks.flatMap(({ lines }) =>
        lines.flatMap((line) => {
          const place = placeOf(path, line)
          return place === undefined ? [] : [placeKey(place)]
        })
      )
    )
  )
  let others = 0
  for (const thread of threads) {
    const key = keyOf(thread)
    if (key === undefined || !shown.has(key)) others += 1
    else beside.set(key, [...(beside.get(key) ?? []), thread])
  }
  return { beside, others }
}
