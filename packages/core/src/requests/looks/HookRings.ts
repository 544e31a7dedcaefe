import type { ConnectionId } from "@reins/base/domain/Ids"
import { Forges } from "@reins/machine/forge/Forges"
import { Effect, Layer } from "effect"
import { ConnectionStore } from "../../connections/ConnectionStore.js"
import { HookListeners, type HookRing } from "../../hooks/HookListeners.js"
import { registrationOf } from "../../hooks/HookStore.js"
import { requestsIn } from "./HookBodies.js"
import { MergeRequestLooks } from "./MergeRequestLooks.js"

/** Rings the looks of the merge requests that a call of a hook is about, in the commit of its receipt. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const listeners = yield* HookListeners
    const looks = yield* MergeRequestLooks
    const connectionsOf = yield* makeConnectionsOf

    yield* listeners.register({
      rung: Effect.fnUntraced(function* (ring) {
        const names = requestsIn(ring.hook.kind, ring.body)
        if (names === undefined) return {}
        const { named, repository } = names
        let rung = 0
        for (const connectionId of yield* connectionsOf(ring, repository))
          for (const each of named) rung += yield* looks.ringAll({ connectionId, repository, ...each })
        return { looks: rung }
      }),
      removed: () => Effect.void
    })
  })
)

/** The most connections that a hook without a registration may ring. */
const mostConnections = 200

/**
 * Gives the function that tells which connections a hook may ring. A registered hook rings its own connection, and only for its own repository. A hook
 * that people made by hand rings the connections of its workspace to a forge of its kind.
 */
const makeConnectionsOf = Effect.gen(function* () {
  const connections = yield* ConnectionStore
  const forges = yield* Forges

  return Effect.fnUntraced(function* (
    { hook }: HookRing,
    repository: string
  ): Effect.fn.Return<ReadonlyArray<ConnectionId>> {
    const registration = registrationOf(hook)
    if (registration === null) {
      const { items } = yield* Effect.orDie(connections.list(hook.workspace_id, { limit: mostConnections }))
      return items.filter(({ kind }) => forges.find(kind)?.kind === hook.kind).map(({ id }) => id)
    }
    const connection = yield* connections.find(registration.connection_id)
    if (connection === undefined || connection.workspace_id !== hook.workspace_id) return []
    const settings = JSON.parse(connection.settings)
    const path = forges.pathOf({ kind: connection.kind, settings }, registration.repository)
    return path?.toLowerCase() === repository.toLowerCase() ? [connection.id] : []
  })
})
