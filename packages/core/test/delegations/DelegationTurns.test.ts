import { assert, describe, it } from "@effect/vitest"
import type { SessionId, TurnId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { systemActor } from "@reins/core/access/Access"
import { Delegations } from "@reins/core/delegations/Delegations"
import { Messages } from "@reins/core/sessions/Messages"
import { InteractionStore } from "@reins/core/sessions/questions/InteractionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Journal } from "@reins/core/store/Journal"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { begin, delegationEvents } from "./Children.js"

const given = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const parent = yield* (yield* Sessions).create(principal, workspaceId, {})
  const delegations = yield* Delegations
  const delegate = (by: Principal, sessionId: SessionId) =>
    Effect.map(
      delegations.spawn(by, sessionId, { role: "helper", instructions: "Help." }),
      ({ delegation }) => delegation
    )
  return { principal, workspaceId, parent, delegations, delegate }
})

for (const { layer, name } of flowDatabases) {
  describe(`the turns of delegations on ${name}`, () => {
    it.scopedLive("whoever cancels a turn cancels what its agent has delegated, at every depth, and nothing else", () =>
      Effect.gen(function* () {
        const { delegate, delegations, parent, principal, workspaceId } = yield* given
        const turns = yield* Turns
        yield* (yield* Messages).send(principal, parent.id, { content: "Delegate it." })
        const as = (sessionId: SessionId, turnId: TurnId): Principal => ({
          accountId: principal.accountId,
          workspaceId,
          scopes: ["read", "write"],
          via: { kind: "turn", sessionId, turnId, providerId: "alpha", keyId: null }
        })
        const turnId = yield* begin(principal, parent.id)
        const own = yield* delegate(as(parent.id, turnId), parent.id)
        const childTurn = yield* begin(principal, own.child_session_id)
        const below = yield* delegate(as(own.child_session_id, childTurn), own.child_session_id)
        yield* begin(principal, below.child_session_id)
        const byHand = yield* delegate(principal, parent.id)
        yield* turns.cancel(principal, turnId)
        const stateOf = (id: string) => Effect.map(delegations.get(principal, id), ({ state }) => state)
        assert.deepStrictEqual(
          [yield* stateOf(own.id), yield* stateOf(below.id), yield* stateOf(byHand.id)],
          ["cancelled", "cancelled", "pending"]
        )
        assert.strictEqual((yield* turns.get(principal, childTurn)).state, "cancelling")
        const told = (yield* delegationEvents(principal, parent.id)).filter(
          ({ type }) => type === "delegation.cancelled"
        )
        assert.deepStrictEqual(
          told.map(({ payload }) => payload["child_session_id"]),
          [own.child_session_id]
        )
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a child that waits for a person is told of to every session above, and when it goes on", () =>
      Effect.gen(function* () {
        const { delegate, parent, principal } = yield* given
        const child = yield* delegate(principal, parent.id)
        yield* begin(principal, child.child_session_id)
        const grandchild = yield* delegate(principal, child.child_session_id)
        const turnId = yield* begin(principal, grandchild.child_session_id)
        const asked = {
          kind: "approval" as const,
          title: "Run make",
          description: null,
          tool_id: null,
          options: [{ id: "no", name: "Refuse", kind: "reject_once" }],
          form: null,
          url: null,
          default: "no"
        }
        const store = yield* InteractionStore
        const journal = yield* Journal
        const question = yield* journal.commit(store.open(turnId, systemActor("test"), asked))
        yield* journal.commit(store.takeBack(question?.id ?? assert.fail("not asked"), systemActor("test")))
        for (const [session, below] of [
          [child.child_session_id, grandchild],
          [parent.id, child]
        ] as const) {
          const told = (yield* delegationEvents(principal, session)).filter(({ type }) => type.includes("action"))
          assert.deepStrictEqual(
            told.map(({ type }) => type),
            ["delegation.action_required", "delegation.action_resolved"]
          )
          assert.deepInclude(told[0]?.payload, {
            child_session_id: below.child_session_id,
            asking_session_id: grandchild.child_session_id,
            asking_turn_id: turnId
          })
        }
      }).pipe(Effect.provide(services(layer)))
    )
  })
}
