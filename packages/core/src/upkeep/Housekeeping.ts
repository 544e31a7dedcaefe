import { Effect, Layer } from "effect"
import { logDefect } from "../store/FailedStatement.js"
import * as Loop from "../store/Loop.js"

/**
 * Deletes records that can no longer be used, at the start and then every hour: runs each sweep, which has a word for its records. A deletion that
 * fails is tried again an hour later.
 */
export const layerOf = <E, R>(sweeps: ReadonlyArray<readonly [string, Effect.Effect<Effect.Effect<unknown>, E, R>]>) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const purges = yield* Effect.forEach(sweeps, ([records, sweep]) =>
        Effect.map(sweep, (purge) => [records, purge] as const)
      )
      const round = Effect.forEach(
        purges,
        ([records, purge]) =>
          Effect.catchAllDefect(purge, (defect) =>
            Effect.annotateLogs(logDefect("old records could not be deleted", defect), { records })
          ),
        { discard: true }
      )
      yield* Loop.start({ failure: "old records could not be deleted", everyMs: 3_600_000, round })
    })
  )
