import { Effect, Layer, Schedule } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import type { SessionId } from "../domain/Ids.js"
import { bytesBelow } from "../files/DiskUse.js"
import { Quotas } from "../sessions/Quotas.js"
import { sessionPaths } from "../sessions/workspace/SessionPaths.js"
import { logDefect } from "../store/FailedStatement.js"

const every = "1 minute"
/** The most sessions that one sweep measures. */
const batch = 500

/** Measures the sessions whose files may have changed, one after the other. */
export const measure = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const quotas = yield* Quotas
  const measureOne = (id: SessionId, shareOf: (id: SessionId) => Effect.Effect<number>) =>
    Effect.all([bytesBelow(sessionPaths(dataDir, id).root), shareOf(id)]).pipe(
      Effect.flatMap(([own, share]) => quotas.measured(id, own + share))
    )
  return Effect.gen(function* () {
    const ids = yield* quotas.unmeasured(batch)
    if (ids.length === 0) return
    const { readStore } = yield* Effect.promise(() => import("../git/Alternates.js"))
    const { storesNamed } = yield* Effect.promise(() => import("../sessions/workspace/StoreSweep.js"))
    const named = yield* Effect.promise(() => storesNamed(dataDir))
    /** Each session has its part of the objects that it shares with others. */
    const shareOf = Effect.fnUntraced(function* (id: SessionId) {
      const store = yield* Effect.promise(() => readStore(sessionPaths(dataDir, id).gitDir))
      return store === null ? 0 : Math.round((yield* bytesBelow(store)) / (named.get(store) ?? 1))
    })
    yield* Effect.forEach(ids, (id) => measureOne(id, shareOf), { discard: true })
  })
})

/** Keeps what the quotas on disk are measured by. It does nothing where there is no such quota. */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { limits } = yield* CoreConfig
    if (limits.diskBytesPerWorkspace === null) return
    const sweep = (yield* measure).pipe(
      Effect.catchAllDefect((defect) => logDefect("the disk use of sessions could not be measured", defect))
    )
    yield* Effect.forkScoped(Effect.repeat(sweep, Schedule.spaced(every)))
  })
)
