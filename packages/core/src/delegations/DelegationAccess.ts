import { Effect } from "effect"
import { Access, requireReach } from "../access/Access.js"
import type { Principal } from "../domain/Principal.js"
import { notFound } from "../domain/ReinsError.js"
import { DelegationStore } from "./DelegationStore.js"

/** The delegations of the workspaces of a principal. Every other delegation is `not_found`. */
export const delegationAccess = Effect.gen(function* () {
  const access = yield* Access
  const store = yield* DelegationStore

  const readable = Effect.fnUntraced(function* (principal: Principal, id: string) {
    const delegation = yield* store.find(id)
    if (delegation === undefined) return yield* notFound()
    yield* requireReach(principal, [delegation.session_id, delegation.child_session_id])
    yield* access.read(principal, delegation.workspace_id)
    return delegation
  })

  return {
    readable,
    /** A delegation that the principal may change, held with its child session until the commit is through. */
    writable: Effect.fnUntraced(function* (principal: Principal, id: string) {
      const delegation = yield* readable(principal, id)
      yield* access.write(principal, delegation.workspace_id)
      return (yield* store.lock(id)) ?? (yield* notFound())
    })
  }
})
