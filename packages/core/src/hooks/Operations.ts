import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import type { operationErrors } from "./Errors.js"
import { HookRegistrations } from "./HookRegistrations.js"
import { Hooks } from "./Hooks.js"
import type { HooksApi } from "./HooksApi.js"

export const hooks = Effect.gen(function* () {
  const hooks = yield* Hooks
  const registrations = yield* HookRegistrations
  const operations: Operations<typeof HooksApi, typeof operationErrors> = {
    list: ({ path, principal, query }) => hooks.list(principal, path.workspace_id, query),
    create: ({ body, path, principal }) => hooks.create(principal, path.workspace_id, body),
    get: ({ path, principal }) => hooks.get(principal, path.hook_id),
    update: ({ body, path, principal }) => hooks.update(principal, path.hook_id, body),
    remove: ({ path, principal }) => hooks.remove(principal, path.hook_id),
    rotateSecret: ({ body, path, principal }) => hooks.rotate(principal, path.hook_id, body),
    register: ({ body, path, principal }) => registrations.register(principal, path.hook_id, body),
    removeRegistration: ({ path, principal }) => registrations.unregister(principal, path.hook_id),
    listReceipts: ({ path, principal, query }) => hooks.receipts(principal, path.hook_id, query),
    replayReceipt: ({ path, principal }) => hooks.replay(principal, path.hook_receipt_id)
  }
  return operations
})
