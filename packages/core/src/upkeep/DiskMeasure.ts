import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Effect, Layer } from "effect"
import * as Loop from "../store/Loop.js"

/** Keeps what the quotas on disk are measured by. It does nothing where there is no such quota. */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { limits } = yield* CoreConfig
    if (limits.diskBytesPerWorkspace === null) return
    const { measure } = yield* Effect.promise(() => import("./DiskSweep.js"))
    yield* Loop.start({
      failure: "the disk use of sessions could not be measured",
      everyMs: 60_000,
      round: yield* measure
    })
  })
)
