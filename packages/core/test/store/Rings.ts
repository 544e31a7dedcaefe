import { Bell } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import { Effect } from "effect"

/**
 * Waits until the rings that other processes give a topic come through, and keeps them coming. Who listens to it from then on is rung
 * by commits alone.
 */
export const letRingsThrough = (topic: string) =>
  Effect.gen(function* () {
    const bell = yield* Bell
    const { dialect } = yield* Database
    // One process alone has no other to hear.
    if (dialect === "sqlite") return
    const begun = yield* Effect.makeLatch(false)
    bell.listen(topic, () => begun.unsafeOpen())
    yield* begun.await
  })
