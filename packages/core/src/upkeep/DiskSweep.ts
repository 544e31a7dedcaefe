import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"
import { Quotas } from "../sessions/rows/Quotas.js"

/** The most sessions that one sweep measures. */
const batch = 500

/**
 * Measures the sessions whose files may have changed, one after the other. The others have their part of shared objects corrected where sessions have
 * come or gone, which costs no measuring.
 */
export const measure = Effect.gen(function* () {
  const { disk } = yield* Bench
  const quotas = yield* Quotas
  // The counts of an earlier process are at most one sweep old.
  let before: Readonly<Record<string, number>> = {}
  return Effect.gen(function* () {
    const ids = yield* quotas.unmeasured(batch)
    const measured = new Set<string>(ids)
    const shares = yield* disk.shares(ids)
    for (const id of ids) yield* quotas.measured(id, (yield* disk.bytesOf(id)) + (shares[id] ?? 0))
    for (const [id, share] of Object.entries(shares)) {
      // A session that this process has not counted yet was measured with its share.
      const had = before[id] ?? share
      if (!measured.has(id) && had !== share) yield* quotas.corrected(id, share - had)
    }
    before = shares
  })
})
