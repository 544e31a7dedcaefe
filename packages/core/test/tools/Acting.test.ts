import { assert, describe, it } from "@effect/vitest"
import type { ApiKeyId, WorkspaceId } from "@reins/base/domain/Ids"
import type { AccountPrincipal, Principal } from "@reins/base/domain/Principal"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { Messages } from "@reins/core/sessions/Messages"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { ToolRuns } from "@reins/core/tools/ToolRuns"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"

/** The calls of the agent of a turn whose message somebody has sent. */
const callerOf = (principal: Principal, sender: Principal, workspaceId: WorkspaceId) =>
  Effect.gen(function* () {
    const session = yield* (yield* Sessions).create(principal, workspaceId, {})
    const sent = yield* (yield* Messages).send(sender, session.id, { content: "Do it." })
    const row = yield* (yield* SessionStore).find(session.id)
    const turn = yield* (yield* TurnStore).find(sent.turn_id ?? "")
    if (row === undefined || turn === undefined) return yield* Effect.dieMessage("there is no turn")
    const call = yield* (yield* ToolRuns).of(row, turn)
    return Effect.map(
      call({ server: "reins", tool: "wait", call_id: "request-1", input: {}, hears_progress: true }),
      ({ is_error, text }) => (is_error ? text : "answered")
    )
  })

const sql = (statement: (given: Database["Type"]["sql"]) => Parameters<Database["Type"]["run"]>[0]) =>
  Effect.gen(function* () {
    const db = yield* Database
    yield* (yield* Journal).commit(db.run(statement(db.sql)))
  })

const refusal = "may not act here any more"
const longAgo = "2020-01-01T00:00:00.000Z"

interface Ended {
  readonly keyId: ApiKeyId
  readonly principal: Principal
}

/** The ends of a right, each by itself. */
const ends = {
  "a key that was revoked": ({ keyId, principal }: Ended) =>
    Effect.flatMap(ApiKeys, (keys) => keys.revoke(principal, keyId)),
  "a key that has expired": ({ keyId }: Ended) =>
    sql((sql) => sql`update api_keys set expires_at = ${longAgo} where id = ${keyId}`),
  "an account that was disabled": ({ principal: { accountId } }: Ended) =>
    sql((sql) => sql`update accounts set state = 'disabled' where id = ${accountId}`),
  "a membership that was lost": ({ principal: { accountId } }: Ended) =>
    sql((sql) => sql`delete from workspace_members where account_id = ${accountId}`)
}

for (const { layer, name } of flowDatabases) {
  describe(`the account that an agent acts for on ${name}`, () => {
    for (const [what, end] of Object.entries(ends))
      it.scopedLive(`${what} ends the right of the agent's tools in the middle of a turn`, () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const { id } = yield* (yield* ApiKeys).create(principal, { name: "program", scopes: ["read", "write"] })
          const byKey: AccountPrincipal = {
            accountId: principal.accountId,
            scopes: ["read", "write"],
            workspaceId: null,
            via: { kind: "api_key", keyId: id }
          }
          const call = yield* callerOf(principal, byKey, workspaceId)
          assert.strictEqual(yield* call, "answered")
          yield* end({ keyId: id, principal })
          assert.include(yield* call, refusal)
        }).pipe(Effect.provide(services(layer)))
      )

    it.scopedLive("a message of the account itself asks for no key", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const call = yield* callerOf(principal, principal, workspaceId)
        assert.strictEqual(yield* call, "answered")
        yield* sql((sql) => sql`update accounts set state = 'disabled' where id = ${principal.accountId}`)
        assert.include(yield* call, refusal)
      }).pipe(Effect.provide(services(layer)))
    )
  })
}
