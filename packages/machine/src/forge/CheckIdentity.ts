import { createHash } from "node:crypto"

// Tells checks apart. A name is what people read, and several checks may have one name.

/** A check as programs compare it. */
export interface CheckIdentity {
  /** The exact name, as the rules of the forge have it. */
  readonly context: string
  /** The id of the app that has reported the check; null where the forge has no such ids, or does not tell. */
  readonly app: number | null
  /** The same for this check on every commit, whatever began it. */
  readonly source: string
  /** The event or pipeline that began it; null where the forge does not tell. */
  readonly trigger: string | null
}

const longestKey = 200

/** A text of parts that differs where a part does. It fits into an index of the database. */
export const textOfParts = (parts: ReadonlyArray<string | number | null>): string => {
  const text = JSON.stringify(parts)
  return text.length <= longestKey ? text : createHash("sha256").update(text).digest("hex")
}

/** A run of a check, as far as its place among the others goes. */
export interface OrderedRun {
  readonly id: number
  readonly startedAt: string | null
  /** The number of the pipeline that it belongs to. A run of a later one is newer; 0 where there are none. */
  readonly round: number
}

/**
 * The newest run of each key: the one that began last. Forges number runs as they come. So the number decides between equal times, and where a time is
 * not known.
 */
export const newestRuns = <A extends OrderedRun>(
  runs: ReadonlyArray<A>,
  keyOf: (run: A) => string
): ReadonlyArray<A> => {
  const byKey = new Map<string, Array<A>>()
  for (const run of runs) {
    const key = keyOf(run)
    const known = byKey.get(key)
    if (known === undefined) byKey.set(key, [run])
    else known.push(run)
  }
  return [...byKey.values()].map(newestIn)
}

const newestIn = <A extends OrderedRun>(runs: ReadonlyArray<A>): A => {
  const timed = runs.map((run) => ({ run, ms: Date.parse(run.startedAt ?? "") }))
  const isTimed = timed.every(({ ms }) => !Number.isNaN(ms))
  return timed.reduce((newest, each) => {
    const later = each.run.round - newest.run.round || (isTimed ? each.ms - newest.ms : 0)
    return later > 0 || (later === 0 && each.run.id > newest.run.id) ? each : newest
  }).run
}
