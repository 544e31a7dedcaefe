import { existsSync } from "node:fs"
import { Effect } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import { storesIn } from "../git/StorePlace.js"

/** Drops object stores that nothing needs. A machine without object stores loads none of it. */
export const objectSweep = Effect.map(CoreConfig, (config) =>
  Effect.suspend(() =>
    existsSync(storesIn(config.dataDir))
      ? Effect.promise(() => import("./StoreSweep.js")).pipe(
          Effect.flatMap(({ storeSweep }) => storeSweep),
          Effect.flatten,
          Effect.provideService(CoreConfig, config)
        )
      : Effect.void
  )
)
