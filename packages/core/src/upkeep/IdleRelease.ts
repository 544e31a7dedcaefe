import { Duration, Effect, Layer, Schedule } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import { fromNow } from "../domain/Timestamp.js"
import { releaseIdleExecutors } from "../execution/IdleExecutors.js"
import { logDefect } from "../store/FailedStatement.js"

/** The longest time between two sweeps, in milliseconds. */
const everyMs = 60_000

/**
 * Releases executors that were not used for a while. The time of the last use is in the database, so a restart neither forgets an executor
 * nor releases one too early.
 */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const config = yield* CoreConfig
    const release = yield* releaseIdleExecutors
    const sweep = Effect.flatMap(fromNow(-config.idleReleaseMs), release).pipe(
      Effect.catchAllDefect((defect) => logDefect("idle executors could not be released", defect))
    )
    const spacing = Duration.millis(Math.min(everyMs, config.idleReleaseMs / 2))
    yield* Effect.forkScoped(Effect.schedule(sweep, Schedule.spaced(spacing)))
  })
)
