import { Effect, Layer, Schedule } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import { logDefect } from "../store/FailedStatement.js"

const every = "1 minute"

/** Keeps what the quotas on disk are measured by. It does nothing where there is no such quota. */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { limits } = yield* CoreConfig
    if (limits.diskBytesPerWorkspace === null) return
    const { measure } = yield* Effect.promise(() => import("./DiskSweep.js"))
    const sweep = (yield* measure).pipe(
      Effect.catchAllDefect((defect) => logDefect("the disk use of sessions could not be measured", defect))
    )
    yield* Effect.forkScoped(Effect.repeat(sweep, Schedule.spaced(every)))
  })
)
