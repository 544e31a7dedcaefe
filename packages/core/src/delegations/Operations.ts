import { Effect } from "effect"
import type { Operations } from "../store/Operation.js"
import { DelegationResults } from "./DelegationResults.js"
import { Delegations } from "./Delegations.js"
import type { DelegateApi, DelegationsApi } from "./DelegationsApi.js"
import type { operationErrors } from "./Errors.js"

export const sessions = Effect.gen(function* () {
  const delegations = yield* Delegations
  const operations: Operations<typeof DelegateApi, typeof operationErrors> = {
    listDelegations: ({ path, principal, query }) => delegations.list(principal, path.session_id, query),
    delegate: ({ body, path, principal }) => delegations.spawn(principal, path.session_id, body)
  }
  return operations
})

export const delegations = Effect.gen(function* () {
  const delegations = yield* Delegations
  const results = yield* DelegationResults
  const operations: Operations<typeof DelegationsApi, typeof operationErrors, "wait"> = {
    get: ({ path, principal }) => delegations.get(principal, path.delegation_id),
    cancel: ({ path, principal }) => delegations.cancel(principal, path.delegation_id),
    sendMessage: ({ body, path, principal }) => delegations.send(principal, path.delegation_id, body),
    getResult: ({ path, principal }) => results.get(principal, path.delegation_id),
    submitResult: ({ body, path, principal }) => results.submit(principal, path.delegation_id, body)
  }
  return operations
})
