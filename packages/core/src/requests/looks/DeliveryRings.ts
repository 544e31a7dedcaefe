import type { MergeRequestId } from "@reins/base/domain/Ids"
import { Effect, Layer } from "effect"
import { DeliveryListeners } from "../../deliveries/DeliveryListeners.js"
import { Database } from "../../store/Database.js"
import { WatchStore } from "../rows/WatchStore.js"

/** Has the merge requests of a branch looked at once a delivery has pushed to it. A look before that took the head for somebody else's. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { all, sql } = yield* Database
    const listeners = yield* DeliveryListeners
    const watches = yield* WatchStore
    yield* listeners.register({
      delivered: Effect.fnUntraced(function* ({ session_id, target_ref }) {
        const open = yield* all(sql<{ id: MergeRequestId }>`select id from merge_requests
          where session_id = ${session_id} and head_branch = ${target_ref} and state = 'open' order by id`)
        for (const { id } of open) yield* watches.ring(id, false)
      })
    })
  })
)
