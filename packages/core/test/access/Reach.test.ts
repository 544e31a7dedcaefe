import { assert, describe, layer as suite } from "@effect/vitest"
import { ApiKeyId, newId, SessionId, ShareId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal, TurnPrincipal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Access, actorOf } from "@reins/core/access/Access"
import { roleOf, roleWithin } from "@reins/core/access/Reach"
import { Delegations } from "@reins/core/delegations/Delegations"
import { EventLog } from "@reins/core/events/EventLog"
import { Accounts } from "@reins/core/identity/Accounts"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { Projects } from "@reins/core/projects/Projects"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Database } from "@reins/core/store/Database"
import { Webhooks } from "@reins/core/webhooks/Webhooks"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import * as fc from "fast-check"

/** A person with a session at work, and the agent in its turn. */
const atWork = Effect.gen(function* () {
  const { principal: owner, workspaceId } = yield* ownerWithConnection
  const session = yield* (yield* Sessions).create(owner, workspaceId, { message: "Work" })
  const turn: TurnPrincipal = {
    accountId: owner.accountId,
    scopes: ["write"],
    workspaceId,
    via: {
      kind: "turn",
      sessionId: session.id,
      turnId: session.turn_id ?? assert.fail("no turn"),
      providerId: session.harness.provider_id,
      keyId: null
    }
  }
  return { owner, session, turn, workspaceId }
})

/** The code that an effect fails with, or the name of another error. */
const code = <A, E extends ReinsError | RequestInvalid, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => (error instanceof ReinsError ? error.code : "RequestInvalid"))

for (const { layer, name } of databases)
  describe(`the reach of a turn on ${name}`, () => {
    suite(services(layer), { excludeTestServices: true })((it) => {
      it.effect("is its session and the sessions that work for it", () =>
        Effect.gen(function* () {
          const { owner, session, turn, workspaceId } = yield* atWork
          const sessions = yield* Sessions
          const delegations = yield* Delegations
          const other = yield* sessions.create(owner, workspaceId, { message: "Other work" })
          const work = { role: "reader", instructions: "Read." }
          const { delegation } = yield* delegations.spawn(turn, session.id, work)
          const foreign = yield* delegations.spawn(owner, other.id, work)

          assert.strictEqual((yield* sessions.get(turn, session.id)).id, session.id)
          yield* (yield* EventLog).open(turn, session.id, 0)
          yield* delegations.send(turn, delegation.id, { content: "Go on." })
          yield* (yield* Messages).list(turn, delegation.child_session_id, {})
          yield* delegations.cancel(turn, delegation.id)

          assert.strictEqual(yield* code(sessions.get(turn, other.id)), "not_found")
          assert.strictEqual(yield* code((yield* EventLog).open(turn, other.id, 0)), "not_found")
          assert.strictEqual(yield* code((yield* Messages).send(turn, other.id, { content: "Stop." })), "not_found")
          assert.strictEqual(yield* code(delegations.spawn(turn, other.id, work)), "not_found")
          assert.strictEqual(yield* code(delegations.get(turn, foreign.delegation.id)), "not_found")
          assert.strictEqual(yield* code(sessions.get(turn, foreign.delegation.child_session_id)), "not_found")
        })
      )

      it.effect("has the agent as the author of its events, and no credentials", () =>
        Effect.gen(function* () {
          const { session, turn } = yield* atWork
          const child = (yield* (yield* Delegations).spawn(turn, session.id, { role: "reader", instructions: "Read." }))
            .delegation.child_session_id
          const { items } = yield* (yield* Messages).list(turn, child, {})
          assert.deepStrictEqual(items[0]?.author, { kind: "harness", id: session.harness.provider_id })
          assert.strictEqual(yield* code((yield* Accounts).me(turn)), "not_found")
        })
      )

      it.effect("is no owner's, whoever sent the message", () =>
        Effect.gen(function* () {
          const { owner, turn, workspaceId } = yield* atWork
          const access = yield* Access
          assert.strictEqual(yield* access.read(owner, workspaceId), "owner")
          assert.strictEqual(yield* access.read(turn, workspaceId), "viewer")
          assert.strictEqual(yield* access.writeWithin(turn, workspaceId, [turn.via.sessionId]), "member")
          const project = { slug: "p", name: "p" }
          assert.strictEqual(yield* code((yield* Projects).create(turn, workspaceId, project)), "forbidden")
          assert.strictEqual(yield* code((yield* Sessions).create(turn, workspaceId, {})), "forbidden")
          assert.strictEqual(yield* code(access.own(turn, workspaceId)), "forbidden")
          assert.strictEqual(yield* code((yield* Webhooks).list(turn, workspaceId, {})), "forbidden")
          assert.strictEqual(yield* code((yield* ApiKeys).create(turn, { name: "more" })), "insufficient_scope")
        })
      )

      it.effect("ends with the membership of its account, in the middle of the turn", () =>
        Effect.gen(function* () {
          const { session, turn, workspaceId } = yield* atWork
          const db = yield* Database
          const sessions = yield* Sessions
          const setRole = (role: string) =>
            db.run(db.sql`update workspace_members set role = ${role} where workspace_id = ${workspaceId}`)
          yield* setRole("viewer")
          assert.strictEqual((yield* sessions.get(turn, session.id)).id, session.id)
          assert.strictEqual(yield* code((yield* Messages).send(turn, session.id, { content: "x" })), "forbidden")
          yield* db.run(db.sql`delete from workspace_members where workspace_id = ${workspaceId}`)
          assert.strictEqual(yield* code(sessions.get(turn, session.id)), "not_found")
          assert.strictEqual(yield* code((yield* Projects).list(turn, workspaceId, {})), "not_found")
        })
      )
    })
  })

describe("Reach", () => {
  suite(services(databases[0]?.layer ?? assert.fail("no database")), { excludeTestServices: true })((it) => {
    it.effect("takes rights and gives none, to every kind of principal", () =>
      Effect.gen(function* () {
        const { owner, turn } = yield* atWork
        const home = turn.workspaceId
        const elsewhere = yield* newId(WorkspaceId)
        const keyId = yield* newId(ApiKeyId)
        const other = yield* newId(SessionId)
        const principals: ReadonlyArray<Principal> = [
          owner,
          { ...owner, workspaceId: home, via: { kind: "api_key", keyId } },
          turn,
          { ...turn, via: { kind: "automation", automationId: "aut_1", keyId } },
          {
            ...turn,
            scopes: ["read"],
            via: { kind: "share", shareId: yield* newId(ShareId), sessionId: turn.via.sessionId, keyId: null }
          }
        ]
        const ranks = [null, "viewer", "member", "owner"] as const
        fc.assert(
          fc.property(
            fc.constantFrom(...principals),
            fc.constantFrom(...ranks),
            fc.constantFrom(home, elsewhere),
            (principal, role, workspaceId) => {
              const reached = roleOf(principal, workspaceId, role)
              assert.isAtMost(ranks.indexOf(reached), ranks.indexOf(role))
              if (principal.workspaceId !== null && workspaceId === elsewhere) assert.isNull(reached)
              if (principal.via.kind === "turn" || principal.via.kind === "automation")
                assert.notStrictEqual(reached, "owner")
              const within = roleWithin(principal, workspaceId, [turn.via.sessionId], role)
              assert.isAtMost(ranks.indexOf(within), ranks.indexOf(role))
              const beside = roleWithin(principal, workspaceId, [other, null], role)
              const isOfOneSession = principal.via.kind === "turn" || principal.via.kind === "share"
              assert.strictEqual(beside, isOfOneSession ? null : reached)
              if (principal.via.kind !== "share") return
              assert.isNull(reached)
              assert.strictEqual(within, workspaceId === home && role !== null && role !== "viewer" ? "viewer" : null)
            }
          )
        )
        assert.deepStrictEqual(principals.map(actorOf), [
          { kind: "account", id: owner.accountId },
          { kind: "api_key", id: keyId },
          { kind: "harness", id: turn.via.providerId },
          { kind: "api_key", id: keyId },
          { kind: "account", id: owner.accountId }
        ])
      })
    )
  })
})
