import { Effect, Layer } from "effect"
import type { MergeRequestId } from "../../domain/Ids.js"
import { Database } from "../../store/Database.js"
import { DeliveryListeners } from "../DeliveryListeners.js"
import { WatchStore } from "./WatchStore.js"

/**
 * Makes the looks of open merge requests due when a delivery to their branch has succeeded. A hook of the push may come before the delivery is
 * written down, and its look does not know yet that the head is ours.
 */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { all, sql } = yield* Database
    const listeners = yield* DeliveryListeners
    const watches = yield* WatchStore

    yield* listeners.register({
      delivered: Effect.fnUntraced(function* ({ session_id, target_ref, transport }) {
        if (transport !== "git_branch") return
        const open = yield* all(sql<{ id: MergeRequestId }>`select merge_requests.id from deliveries
          join merge_requests on merge_requests.delivery_id = deliveries.id
          where deliveries.session_id = ${session_id} and target_ref = ${target_ref} and merge_requests.state = 'open'
          order by merge_requests.id`)
        for (const { id } of open) yield* watches.ring(id, false)
      })
    })
  })
)
