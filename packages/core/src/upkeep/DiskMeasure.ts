import { execFile } from "node:child_process"
import { Effect, Layer, Schedule } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import type { SessionId } from "../domain/Ids.js"
import { Quotas } from "../sessions/Quotas.js"
import { sessionPaths } from "../sessions/SessionPaths.js"
import { logDefect } from "../store/FailedStatement.js"

const every = "1 minute"
/** The most sessions that one sweep measures. */
const batch = 500

/**
 * The bytes that the files of a session take on the disk; 0 for files that are not there. `du` counts a file with several names once and follows
 * no link, and says what it has counted also where files vanish meanwhile.
 */
const bytesBelow = (directory: string): Effect.Effect<number> =>
  Effect.async((resume) => {
    execFile("du", ["-sk", directory], (_failure, stdout) =>
      resume(Effect.succeed(1024 * Number(/^\d+/.exec(stdout)?.[0] ?? 0)))
    )
  })

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
