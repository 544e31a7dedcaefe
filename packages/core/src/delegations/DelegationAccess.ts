import type { Principal } from "@reins/base/domain/Principal"
import { notFound } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"
import { Access } from "../access/Access.js"
import type { Delegation } from "./Delegation.js"
import { DelegationStore } from "./DelegationStore.js"

/** The sessions that a delegation belongs to: the one that delegates and the one that works. */
export const sessionsOf = ({ child_session_id, session_id }: Delegation): ReadonlyArray<string> => [
  session_id,
  child_session_id
]

/** The delegations of the workspaces of a principal. Every other delegation is `not_found`. */
export const delegationAccess = Effect.gen(function* () {
  const access = yield* Access
  const store = yield* DelegationStore

  const readable = Effect.fnUntraced(function* (principal: Principal, id: string) {
    const delegation = yield* store.find(id)
    if (delegation === undefined) return yield* notFound()
    yield* access.readWithin(principal, delegation.workspace_id, sessionsOf(delegation))
    return delegation
  })

  return {
    readable,
    /** A delegation that the principal may change, held with its child session until the commit is through. */
    writable: Effect.fnUntraced(function* (principal: Principal, id: string) {
      const delegation = yield* readable(principal, id)
      yield* access.writeWithin(principal, delegation.workspace_id, sessionsOf(delegation))
      return (yield* store.lock(id)) ?? (yield* notFound())
    })
  }
})
