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
  const measureOne = (id: SessionId) =>
    Effect.flatMap(bytesBelow(sessionPaths(dataDir, id).root), (bytes) => quotas.measured(id, bytes))
  return Effect.flatMap(quotas.unmeasured(batch), (ids) => Effect.forEach(ids, measureOne, { discard: true }))
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
