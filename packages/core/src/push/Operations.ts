import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import type { operationErrors } from "./Errors.js"
import type { PushApi } from "./PushApi.js"
import { PushSubscriptions } from "./PushSubscriptions.js"

export const push = Effect.gen(function* () {
  const subscriptions = yield* PushSubscriptions
  const operations: Operations<typeof PushApi, typeof operationErrors> = {
    getKey: () => Effect.succeed({ public_key: subscriptions.publicKey }),
    listSubscriptions: ({ path, principal, query }) => subscriptions.list(principal, path.workspace_id, query),
    createSubscription: ({ body, path, principal }) => subscriptions.subscribe(principal, path.workspace_id, body),
    removeSubscription: ({ path, principal }) => subscriptions.unsubscribe(principal, path.push_subscription_id)
  }
  return operations
})
