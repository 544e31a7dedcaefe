import { Effect } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import { sessionPaths } from "../bench/SessionPaths.js"
import { bytesBelow } from "../files/DiskUse.js"
import { Quotas } from "../sessions/Quotas.js"

/** The most sessions that one sweep measures. */
const batch = 500

/** The objects that sessions share, as they were counted last. */
interface Shared {
  /** The sessions of each store, and the bytes that each of them has of it. */
  readonly stores: ReadonlyMap<string, { readonly sessions: number; readonly share: number }>
  /** The bytes that each session has of its store. */
  readonly shares: ReadonlyMap<string, number>
}

/**
 * Divides each store evenly among the sessions that name it, so that all of them together have it once. A store is counted anew where its sessions are
 * others than before, or one of them is to be measured.
 */
const divided = Effect.fnUntraced(function* (
  named: ReadonlyMap<string, ReadonlyArray<string>>,
  before: Shared | null,
  measured: ReadonlySet<string>
) {
  const stores = new Map<string, { readonly sessions: number; readonly share: number }>()
  const shares = new Map<string, number>()
  for (const [store, ids] of named) {
    const known = before?.stores.get(store)
    const isKnown = known?.sessions === ids.length && ids.every((id) => before?.shares.has(id) && !measured.has(id))
    const share = known && isKnown ? known.share : Math.round((yield* bytesBelow(store)) / ids.length)
    stores.set(store, { sessions: ids.length, share })
    for (const id of ids) shares.set(id, share)
  }
  return { stores, shares } satisfies Shared
})

/**
 * Measures the sessions whose files may have changed, one after the other. Their stores are divided anew where sessions have come or gone, which
 * costs the others no measuring.
 */
export const measure = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const quotas = yield* Quotas
  // The counts of an earlier process are at most one sweep old.
  let before: Shared | null = null
  return Effect.gen(function* () {
    const ids = yield* quotas.unmeasured(batch)
    const measured = new Set<string>(ids)
    const { storesNamed } = yield* Effect.promise(() => import("../worktrees/StoreSweep.js"))
    const now: Shared = yield* divided(yield* Effect.promise(() => storesNamed(dataDir)), before, measured)
    for (const id of ids) {
      const own = yield* bytesBelow(sessionPaths(dataDir, id).root)
      yield* quotas.measured(id, own + (now.shares.get(id) ?? 0))
    }
    for (const [id, share] of now.shares) {
      // A session that this process has not counted yet was measured with its share.
      const had: number = before?.shares.get(id) ?? share
      if (!measured.has(id) && had !== share) yield* quotas.corrected(id, share - had)
    }
    before = now
  })
})
