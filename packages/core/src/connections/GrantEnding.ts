import { limited } from "@reins/base/base/Limited"
import { ConnectionId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { Duration, Effect } from "effect"
import { Access } from "../access/Access.js"
import { Journal } from "../store/Journal.js"
import { ConnectionKinds } from "./ConnectionKinds.js"
import { ConnectionStore } from "./ConnectionStore.js"
import { ConnectionUses } from "./ConnectionUses.js"

/** The time that an authorization server has to end the tokens of a connection. */
const patience = Duration.seconds(5)

/**
 * Gives the function that asks the authorization server of a connection to end its tokens, where the principal may revoke the connection now. One that
 * gives no answer in time is left alone.
 */
export const grantEnding = Effect.gen(function* () {
  const access = yield* Access
  const journal = yield* Journal
  const kinds = yield* ConnectionKinds
  const outbound = yield* Outbound
  const store = yield* ConnectionStore
  const uses = yield* ConnectionUses

  return (principal: Principal, id: string): Effect.Effect<void> =>
    Effect.gen(function* () {
      const row = yield* store.find(id)
      const end = row === undefined ? undefined : kinds.find(row.kind)?.grant?.end
      if (row === undefined || end === undefined || row.credential_id === null) return
      yield* access.write(principal, row.workspace_id)
      const connection = yield* store.openVersion(ConnectionId.make(id), row.credential_id)
      if ((yield* journal.commit(uses.find(connection.id))) !== undefined) return
      yield* limited(end(connection, outbound), Effect.timeoutOption(patience))
    }).pipe(Effect.ignore)
})
