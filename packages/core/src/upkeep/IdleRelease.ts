import { CoreConfig } from "@reins/base/base/CoreConfig"
import { fromNow } from "@reins/base/domain/Timestamp"
import { Effect, Layer } from "effect"
import { releaseIdleExecutors } from "../execution/executor/IdleExecutors.js"
import * as Loop from "../store/Loop.js"

/** The longest time between two sweeps, in milliseconds. */
const longestMs = 60_000

/**
 * Releases executors that were not used for a while. The time of the last use is in the database, so a restart neither forgets an executor
 * nor releases one too early.
 */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const config = yield* CoreConfig
    const release = yield* releaseIdleExecutors
    yield* Loop.start({
      failure: "idle executors could not be released",
      everyMs: Math.min(longestMs, config.idleReleaseMs / 2),
      round: Effect.asVoid(Effect.flatMap(fromNow(-config.idleReleaseMs), release))
    })
  })
)
