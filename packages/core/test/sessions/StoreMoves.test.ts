import { assert, describe, it } from "@effect/vitest"
import { LeaseId, type MessageId, newId, type TurnId } from "@reins/base/domain/Ids"
import { now } from "@reins/base/domain/Timestamp"
import { systemActor } from "@reins/core/access/Access"
import { Messages } from "@reins/core/sessions/Messages"
import { MessageStore } from "@reins/core/sessions/messages/MessageStore"
import { type Message, type MessageState, messageStates } from "@reins/core/sessions/rows/Message"
import { leaseStates, sessionStates, workspaceStates } from "@reins/core/sessions/rows/Session"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { liveTurnStates, TurnState, turnStates, waitingTurnState } from "@reins/core/sessions/rows/Turn"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import type { Commit } from "@reins/core/store/Commit"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import * as LeaseRows from "@reins/core/worktrees/LeaseRows"
import { WorkingTreeStore } from "@reins/core/worktrees/WorkingTreeStore"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Exit } from "effect"

const actor = systemActor("test")

/** Every move between two states of a machine. */
const pairs = <State>(states: ReadonlyArray<State>): ReadonlyArray<readonly [State, State]> =>
  states.flatMap((from) => states.map((to) => [from, to] as const))

/** True when the commit of a move goes through. */
const isDone = <A, E>(move: Effect.Effect<A, E, Commit>) =>
  Effect.flatMap(Journal, (journal) => Effect.map(Effect.exit(journal.commit(move)), Exit.isSuccess))

const given = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const session = yield* (yield* Sessions).create(principal, workspaceId, {})
  const store = yield* SessionStore
  const row = Effect.flatMap(store.find(session.id), (found) =>
    found === undefined ? Effect.dieMessage("no session") : Effect.succeed(found)
  )
  return { principal, session, store, row }
})

it("a turn that has not ended waits or is live", () => {
  const ongoing = TurnState.literals.filter((state) => !turnStates.isTerminal(state))
  assert.sameMembers([waitingTurnState, ...liveTurnStates], ongoing)
})

for (const { layer, name } of flowDatabases) {
  describe(`the moves that stores make on ${name}`, () => {
    it.scopedLive("a session, its lease and its workspace move as drawn and not otherwise", () =>
      Effect.gen(function* () {
        const { row, session, store } = yield* given
        const files = yield* WorkingTreeStore
        const leases = LeaseRows.make(yield* Database)
        for (const [from, to] of pairs(sessionStates.states)) {
          const move = store.move({ ...(yield* row), lifecycle: from }, to, actor)
          assert.strictEqual(yield* isDone(move), sessionStates.allows(from, to), `session ${from} to ${to}`)
        }
        for (const [from, to] of pairs(workspaceStates.states)) {
          const move = files.move({ id: session.id, tree: { state: from } }, to)
          assert.strictEqual(yield* isDone(move), workspaceStates.allows(from, to), `workspace ${from} to ${to}`)
        }
        for (const [from, to] of pairs(leaseStates.states)) {
          const [id, at] = [yield* newId(LeaseId), yield* now]
          const lease = from === "none" ? null : { id, state: from, created_at: at, used_at: null }
          // The types refuse to move a lease that there is not, and to make one that has begun into none.
          if (to === "none" || (lease === null && to !== "allocating")) continue
          const move =
            lease === null || to === "allocating"
              ? leases.begin(session.id, lease, { id, at })
              : leases.move(session.id, lease, to, at)
          const isNext = leaseStates.isTerminal(from) && to === "allocating"
          assert.strictEqual(yield* isDone(move), isNext || leaseStates.allows(from, to), `lease ${from} to ${to}`)
        }
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a message is delivered and cancelled as drawn", () =>
      Effect.gen(function* () {
        const { principal, session } = yield* given
        const messages = yield* Messages
        const store = yield* MessageStore
        const stateOf = ({ id }: Message) => Effect.map(store.find(id), (found) => found?.state)
        const queued = (yield* messages.send(principal, session.id, { content: "Go." })).message
        const note = (yield* messages.send(principal, session.id, { content: "Note.", routing: "note" })).message
        const at = (state: MessageState): Message => ({ ...queued, state })
        for (const state of messageStates.states) {
          // A message that is delivered already stays so without a word.
          const isTaken = state === "delivered" || messageStates.allows(state, "delivered")
          assert.strictEqual(yield* isDone(store.deliver(at(state), actor)), isTaken, state)
        }
        const waiting = (yield* messages.send(principal, session.id, { content: "Later." })).message
        assert.isTrue(yield* isDone(Effect.all([queued, note, waiting].map(({ id }) => store.cancel(id)))))
        assert.deepStrictEqual(yield* Effect.all([queued, note, waiting].map(stateOf)), [
          "delivered",
          "accepted",
          "cancelled"
        ])
        assert.isTrue(yield* isDone(Effect.all([queued, note, waiting].map(({ id }) => store.requeue(id)))))
        assert.deepStrictEqual(yield* Effect.all([queued, note, waiting].map(stateOf)), [
          "delivered",
          "accepted",
          "queued"
        ])
      }).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("the end of a turn cancels a message that no agent was given, and a retry queues it anew", () =>
      Effect.gen(function* () {
        const { principal, session } = yield* given
        const messages = yield* Messages
        const store = yield* MessageStore
        const turns = yield* TurnStore
        const stateOf = (id: MessageId) => Effect.map(store.find(id), (found) => found?.state)
        const moves = (id: TurnId, states: ReadonlyArray<TurnState>) =>
          Effect.forEach(states, (to) => isDone(turns.move(id, to, actor)))
        for (const end of ["failed", "interrupted", "cancelled"] as const) {
          const { message, turn_id } = yield* messages.send(principal, session.id, { content: "Go." })
          const path = end === "cancelled" ? (["preparing", "cancelling", end] as const) : (["preparing", end] as const)
          const id = turn_id ?? assert.fail("no turn")
          assert.deepStrictEqual(yield* stateOf(message.id), "queued")
          assert.notInclude(yield* moves(id, path), false, end)
          assert.strictEqual(yield* stateOf(message.id), "cancelled", end)
          const again = yield* (yield* Turns).retry(principal, id)
          assert.strictEqual(yield* stateOf(message.id), "queued", `the retry of one that is ${end}`)
          assert.notInclude(yield* moves(again.id, ["preparing", "running"]), false)
          assert.isTrue(yield* isDone(store.deliver(message, actor)))
          assert.notInclude(yield* moves(again.id, ["succeeded"]), false)
          assert.strictEqual(yield* stateOf(message.id), "delivered", end)
        }
      }).pipe(Effect.provide(services(layer)))
    )
  })
}
