import { loadedOnce } from "@reins/base/base/Once"
import { Effect, FiberSet, Layer } from "effect"
import { looksTopic } from "../../store/Bell.js"
import * as Loop from "../../store/Loop.js"
import { WatchStore } from "../rows/WatchStore.js"

/** The looks of a process at the same time. */
const places = 4

/** The longest time in milliseconds by which a lost ring delays a look. */
const longestMs = 15_000

/** The time after which a process that looks at as many as it may looks for others, in milliseconds. */
const fullMs = 500

/** Looks at the open merge requests whose time has come, in the background of a process. */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const watches = yield* WatchStore
    const looking = yield* loadedOnce(() => import("./Look.js").then(({ makeLook }) => makeLook))
    const looks = yield* FiberSet.make()
    const start = yield* FiberSet.runtime(looks)<never>()
    yield* Loop.start({
      failure: "merge requests cannot be looked at",
      topics: [looksTopic],
      everyMs: longestMs,
      round: Effect.gen(function* () {
        const free = places - (yield* FiberSet.size(looks))
        if (free <= 0) return { waitMs: fullMs }
        const claimed = yield* watches.claim(free)
        for (const watch of claimed)
          start(
            Effect.flatMap(looking, (look) => look(watch)).pipe(
              Effect.catchTag("WatchLost", () => Effect.void),
              Effect.catchAllDefect((defect) => Effect.logWarning("a merge request could not be looked at", defect)),
              Effect.onInterrupt(() => watches.release(watch.merge_request_id)),
              Effect.annotateLogs({ merge_request: watch.merge_request_id })
            )
          )
        const dueIn = yield* watches.dueIn
        return dueIn === undefined ? undefined : { waitMs: Math.max(dueIn, claimed.length === free ? fullMs : 1) }
      })
    })
  })
)
