import { assert, describe, it } from "@effect/vitest"
import { ChangesetId, newId, type SessionId } from "@reins/base/domain/Ids"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { type ApplicationState, applicationStates } from "@reins/core/changes/Application"
import { ApplicationStore } from "@reins/core/changes/ApplicationStore"
import { Applications } from "@reins/core/changes/Applications"
import { type ChangesetState, changesetStates } from "@reins/core/changes/Changeset"
import { ChangesetStore } from "@reins/core/changes/ChangesetStore"
import { Changesets } from "@reins/core/changes/Changesets"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import { type DeliveryState, deliveryStates } from "@reins/core/deliveries/Delivery"
import { DeliveryStore } from "@reins/core/deliveries/DeliveryStore"
import { EventLog } from "@reins/core/events/EventLog"
import { MergeRequests } from "@reins/core/requests/MergeRequests"
import { type MergeRequestState, mergeRequestStates } from "@reins/core/requests/rows/MergeRequest"
import { MergeRequestStore } from "@reins/core/requests/rows/MergeRequestStore"
import { readNow } from "@reins/core/requests/rows/Reading"
import { Journal } from "@reins/core/store/Journal"
import { captured, forgeConnection, sealed, system } from "@reins/testing/changes/Fixture"
import { services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { walks } from "@reins/testing/Volume"
import { Effect, Exit, Runtime, Schema } from "effect"
import * as fc from "fast-check"

/** Runs a property whose runs share the services of the test. */
const property = <A, R>(arbitrary: fc.Arbitrary<A>, body: (value: A) => Effect.Effect<void, unknown, R>) =>
  Effect.flatMap(Effect.runtime<R>(), (runtime) =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(arbitrary, (value) => Runtime.runPromise(runtime)(body(value))),
        { numRuns: walks.changesets }
      )
    )
  )

/** The outcome of a command: `done`, `refused` with 409 invalid_transition, or `died`, as a forbidden move of a worker does. */
const outcomeOf = <A, E, R>(command: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(command), (exit) => {
    if (Exit.isSuccess(exit)) return "done" as const
    const [failure] = exit.cause._tag === "Fail" ? [exit.cause.error] : []
    if (failure === undefined) return "died" as const
    if (!(failure instanceof ReinsError)) throw new Error("the command failed with something else")
    assert.deepStrictEqual([failure.code, failure.status], ["invalid_transition", 409])
    return "refused" as const
  })

const Told = Schema.parseJson(Schema.Struct({ payload: Schema.Struct({ state: Schema.String }) }))

/** The states that the events of a resource tell, in their order, each change once. */
const toldStates = (sessionId: SessionId, prefix: string) =>
  Effect.gen(function* () {
    const { events } = yield* (yield* EventLog).read(sessionId, 0, 1000)
    const states = events
      .filter((event) => event.type.startsWith(prefix))
      .map((event) => Schema.decodeSync(Told)(event.envelope).payload.state)
    return states.filter((state, index) => state !== states[index - 1])
  })

const deliveryCommand = fc.oneof(
  fc.constantFrom("retry" as const, "refresh" as const, "cancel" as const),
  fc.constantFrom(...deliveryStates.states).map((to) => ({ to }))
)

/** The state after a command; undefined when the command is refused. */
const afterCommand = (state: DeliveryState, command: "retry" | "refresh" | "cancel"): DeliveryState | undefined => {
  if (command === "refresh") return state === "blocked" ? "executing" : state
  if (command === "cancel") return state === "pending" || state === "executing" ? "cancelled" : undefined
  return state === "failed" ? "pending" : state === "blocked" ? "executing" : undefined
}

for (const { layer, name } of databases) {
  describe(`the states of changes on ${name}`, () => {
    it.scopedLive("a delivery moves as drawn, everything else is refused, and its events say the same", () =>
      property(fc.array(deliveryCommand, { maxLength: 20 }), (commands) =>
        Effect.gen(function* () {
          const { changeset, principal, session } = yield* sealed
          const deliveries = yield* Deliveries
          const store = yield* DeliveryStore
          const journal = yield* Journal
          const { delivery } = yield* deliveries.request(principal, changeset.id, {})
          let state: DeliveryState = "pending"
          for (const command of commands) {
            if (typeof command === "string") {
              const next = afterCommand(state, command)
              const outcome = yield* outcomeOf(deliveries[command](principal, delivery.id))
              assert.strictEqual(outcome, next === undefined ? "refused" : "done", `${command} of ${state}`)
              state = next ?? state
            } else {
              const legal = deliveryStates.allows(state, command.to)
              const outcome = yield* outcomeOf(journal.commit(store.move(delivery.id, { state: command.to }, system)))
              assert.strictEqual(outcome, legal ? "done" : "died", `${state} to ${command.to}`)
              if (legal) state = command.to
            }
            assert.strictEqual((yield* deliveries.get(principal, delivery.id)).state, state)
          }
          const told = yield* toldStates(session.id, "delivery.")
          assert.strictEqual(told[0], "pending")
          assert.strictEqual(told.at(-1), state)
          for (const [index, to] of told.entries()) {
            const from = told[index - 1]
            if (from !== undefined) {
              assert.include(deliveryStates.transitions[deliveryStateOf(from)], to, told.join(" "))
            }
          }
        })
      ).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a changeset moves as drawn and tells its end once", () =>
      property(fc.array(fc.constantFrom("ready" as const, "failed" as const), { maxLength: 3 }), (moves) =>
        Effect.gen(function* () {
          const { principal, session } = yield* sealed
          const changesets = yield* Changesets
          const store = yield* ChangesetStore
          const journal = yield* Journal
          const id = yield* newId(ChangesetId)
          const before = (yield* toldStates(session.id, "changeset.")).length
          yield* journal.commit(store.open(id, session.id, system, { origin: "explicit", label: null, turnId: null }))
          let state: ChangesetState = "capturing"
          for (const to of moves) {
            const legal = changesetStates.allows(state, to)
            const move = to === "ready" ? store.seal(id, captured, system) : store.fail(id, "No space.", system)
            assert.strictEqual(yield* outcomeOf(journal.commit(move)), legal ? "done" : "died", `${state} to ${to}`)
            if (legal) state = to
            const now = yield* changesets.get(principal, id)
            assert.deepStrictEqual([now.state, now.tree !== null], [state, state === "ready"])
          }
          const told = (yield* toldStates(session.id, "changeset.")).slice(before)
          assert.deepStrictEqual(told, state === "capturing" ? [state] : ["capturing", state])
        })
      ).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("an application moves as drawn and tells its end once", () =>
      property(fc.array(fc.constantFrom(...applicationStates.states), { maxLength: 8 }), (moves) =>
        Effect.gen(function* () {
          const { changeset, principal, session } = yield* sealed
          const applications = yield* Applications
          const store = yield* ApplicationStore
          const journal = yield* Journal
          const { application } = yield* applications.request(principal, changeset.id, {
            target_session_id: session.id
          })
          let state: ApplicationState = "pending"
          for (const to of moves) {
            const legal = applicationStates.allows(state, to)
            const outcome = yield* outcomeOf(journal.commit(store.move(application.id, { state: to }, system)))
            assert.strictEqual(outcome, legal ? "done" : "died", `${state} to ${to}`)
            if (legal) state = to
            const now = yield* applications.get(principal, application.id)
            assert.strictEqual(now.state, state)
            assert.strictEqual(now.finished_at !== null, applicationStates.isTerminal(state))
          }
          const told = yield* toldStates(session.id, "workspace.appl")
          assert.deepStrictEqual(told, applicationStates.isTerminal(state) ? [state] : [])
        })
      ).pipe(Effect.provide(services(layer)))
    )

    it.scopedLive("a merge request moves as drawn, only an open one is merged, and its events say the same", () =>
      property(
        fc.array(
          fc.oneof(
            fc.constant("merge" as const),
            fc.constantFrom(...mergeRequestStates.states).map((to) => ({ to }))
          ),
          { maxLength: 12 }
        ),
        (commands) =>
          Effect.gen(function* () {
            const { changeset, principal, session } = yield* sealed
            const connection = yield* forgeConnection("gitea", "https://gitea.example.com")
            const deliveries = yield* DeliveryStore
            const mergeRequests = yield* MergeRequests
            const store = yield* MergeRequestStore
            const journal = yield* Journal
            const { delivery } = yield* (yield* Deliveries).request(principal, changeset.id, {
              connection_id: connection.id
            })
            yield* journal.commit(deliveries.move(delivery.id, { state: "executing" }, system))
            yield* journal.commit(deliveries.move(delivery.id, { state: "succeeded" }, system))
            const { merge_request: request } = yield* mergeRequests.open(principal, delivery.id, {})
            const expected_head_sha = "c".repeat(40)
            const seenAs = (remote: "open" | "merged" | "closed") => ({
              number: 1,
              webUrl: "https://gitea.example.com/acme/shop/pulls/1",
              state: remote,
              draft: false,
              description: "",
              headSha: expected_head_sha
            })
            const observed = (remote: "open" | "merged" | "closed") =>
              Effect.flatMap(readNow(Effect.succeed(seenAs(remote))), (seen) =>
                store.keepReading(request.id, seen, system)
              )
            const moveTo = (to: MergeRequestState, from: MergeRequestState) => {
              if (to === "failed") return store.failed(request.id, { reason: "rejected", message: "No." }, system)
              if (to === "merged" || to === "closed") return observed(to)
              if (to === "pending") return Effect.die("there is no way back")
              return from === "pending" ? store.opened(request.id, seenAs("open"), false, system) : observed("open")
            }
            let state: MergeRequestState = "pending"
            for (const command of commands) {
              if (command === "merge") {
                const outcome = yield* outcomeOf(mergeRequests.merge(principal, request.id, { expected_head_sha }))
                assert.strictEqual(outcome, state === "open" ? "done" : "refused", state)
              } else {
                const legal =
                  mergeRequestStates.allows(state, command.to) || (state === "open" && command.to === "open")
                const outcome = yield* outcomeOf(journal.commit(moveTo(command.to, state)))
                assert.strictEqual(outcome, legal ? "done" : "died", `${state} to ${command.to}`)
                if (legal) state = command.to
              }
              assert.strictEqual((yield* mergeRequests.get(principal, request.id)).state, state)
            }
            const told = yield* toldStates(session.id, "merge_request.")
            assert.strictEqual(told.at(-1), state)
            assert.isTrue(["pending", "pending open", "pending failed"].some((path) => told.join(" ").startsWith(path)))
            assert.isAtMost(told.length, 3)
          })
      ).pipe(Effect.provide(services(layer)))
    )
  })
}

const deliveryStateOf = (text: string): DeliveryState => {
  const state = deliveryStates.states.find((known) => known === text)
  assert.isDefined(state)
  return state ?? "pending"
}
