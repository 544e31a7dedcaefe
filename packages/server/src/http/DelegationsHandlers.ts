import { DelegationResults } from "@reins/core/delegations/DelegationResults"
import { Delegations } from "@reins/core/delegations/Delegations"
import { Waits } from "@reins/core/delegations/Waits"
import { Effect } from "effect"
import { Shutdown } from "../Shutdown.js"
import type { Handlers } from "./Handlers.js"

export const delegations = Effect.gen(function* () {
  const delegations = yield* Delegations
  const results = yield* DelegationResults
  const waits = yield* Waits
  const shutdown = yield* Shutdown
  const handlers: Handlers<"delegations"> = {
    get: ({ path, principal }) => delegations.get(principal, path.delegation_id),
    cancel: ({ path, principal }) => delegations.cancel(principal, path.delegation_id),
    sendMessage: ({ body, path, principal }) => delegations.send(principal, path.delegation_id, body),
    getResult: ({ path, principal }) => results.get(principal, path.delegation_id),
    submitResult: ({ body, path, principal }) => results.submit(principal, path.delegation_id, body),
    wait: ({ body, path, principal }) => waits.wait(principal, path.delegation_id, body, shutdown.begun)
  }
  return handlers
})
