import { assert, describe, layer as suiteOver } from "@effect/vitest"
import { defaultLimits } from "@reins/base/base/CoreLimits"
import { ChangesetId, newId, type SessionId, type WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { type ErrorCode, ReinsError } from "@reins/base/domain/ReinsError"
import { now } from "@reins/base/domain/Timestamp"
import * as Memberships from "@reins/core/access/Memberships"
import { Applications } from "@reins/core/changes/Applications"
import { ChangesetAction, changesetStates } from "@reins/core/changes/Changeset"
import { ChangesetStore } from "@reins/core/changes/ChangesetStore"
import { Changesets } from "@reins/core/changes/Changesets"
import { Delegations } from "@reins/core/delegations/Delegations"
import { Deletions } from "@reins/core/deletion/Deletions"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import { DeliveryAction, deliveryStates } from "@reins/core/deliveries/Delivery"
import { HarnessSwitches } from "@reins/core/execution/executor/HarnessSwitches"
import { SessionExecutors } from "@reins/core/execution/executor/SessionExecutors"
import { DeliveryTransport } from "@reins/core/projects/Project"
import { MergeRequests } from "@reins/core/requests/MergeRequests"
import { Messages } from "@reins/core/sessions/Messages"
import { LeaseState, SessionAction, SessionLifecycle } from "@reins/core/sessions/rows/Session"
import { TurnAction, TurnState } from "@reins/core/sessions/rows/Turn"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { captured, sealed, system } from "@reins/testing/changes/Fixture"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { walks } from "@reins/testing/Volume"
import { Cause, Effect, Exit, Option, Runtime } from "effect"
import * as fc from "fast-check"
import { stranger } from "../identity/Principals.js"

/** The codes with which a command is refused for the state of what it is given to, and not for what it asks. */
const stateCodes: ReadonlySet<ErrorCode> = new Set([
  "context_unavailable",
  "delivery_unresolved",
  "executor_unavailable",
  "forbidden",
  "invalid_transition",
  "model_required",
  "quota_exhausted",
  "stale_subject",
  "turn_active"
])

/** The code with which a command is refused for the state; undefined when it is not. A defect is no refusal. */
const refusalOf = <A, E, R>(command: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(command), (exit) => {
    if (Exit.isSuccess(exit)) return undefined
    const failure = Option.getOrUndefined(Cause.failureOption(exit.cause))
    if (!(failure instanceof ReinsError)) return assert.fail(Cause.pretty(exit.cause))
    return stateCodes.has(failure.code) ? failure.code : undefined
  })

/** The actions that are listed as possible, and the command of each. */
interface Made<Action extends string, R> {
  readonly listed: ReadonlyArray<Action>
  readonly commands: Readonly<Record<Action, Effect.Effect<unknown, unknown, R>>>
}

/** Tries every action, each on something that is made anew: a listed one is not refused for the state, and every other one is. */
const tryAll = <Action extends string, R, R2>(
  actions: ReadonlyArray<Action>,
  make: (action: Action) => Effect.Effect<Made<Action, R>, unknown, R2>,
  what: unknown
) =>
  Effect.forEach(
    actions,
    Effect.fnUntraced(function* (action) {
      const { commands, listed } = yield* make(action)
      const refusal = yield* refusalOf(commands[action])
      const told = `${action} of ${JSON.stringify(what)}: ${refusal ?? "done"}, listed ${listed.join(", ") || "nothing"}`
      assert.strictEqual(refusal === undefined, listed.includes(action), told)
    }),
    { discard: true }
  )

const property = <A, R>(arbitrary: fc.Arbitrary<A>, body: (value: A) => Effect.Effect<void, unknown, R>) =>
  Effect.flatMap(Effect.runtime<R>(), (runtime) =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(arbitrary, (value) => Runtime.runPromise(runtime)(body(value))),
        { numRuns: 2 * walks.changesets }
      )
    )
  )

/** Writes a state where commands would take many steps to bring it about. */
const written = Effect.map(Database, ({ run, sql }) => ({
  session: (id: string, columns: Readonly<Record<string, string | number | null>>) =>
    run(sql`update sessions set ${sql.update(columns)} where id = ${id}`),
  tree: (id: string, state: string) =>
    run(sql`insert into working_trees (session_id, state) values (${id}, ${state})
      on conflict (session_id) do update set state = excluded.state`),
  lease: (id: string, state: string, at: string) =>
    run(sql`insert into leases (session_id, id, state, created_at)
      values (${id}, 'lease_01jz0000000000000000000000', ${state}, ${at})`),
  agent: (id: string, context_lost: number) =>
    run(sql`insert into agent_states (session_id, context_lost) values (${id}, ${context_lost})`),
  state: (table: "turns" | "deliveries", id: string, state: string) =>
    run(sql`update ${sql(table)} set state = ${state} where id = ${id}`)
}))

const situation = fc
  .record({
    lifecycle: fc.constantFrom(...SessionLifecycle.literals),
    hasWorkingTree: fc.boolean(),
    lease: fc.constantFrom(...LeaseState.literals),
    turn: fc.option(fc.constantFrom(...TurnState.literals), { nil: undefined }),
    isFull: fc.boolean(),
    contextLost: fc.boolean(),
    hasModel: fc.boolean()
  })
  // Most conditions hold for a session that is fine, and one that fails hides those behind it.
  .chain((any) => fc.constantFrom(any, { ...any, contextLost: false, hasModel: true, lifecycle: "open" as const }))
type Situation = typeof situation extends fc.Arbitrary<infer S> ? S : never

/** A session in a situation, and the turn whose state the situation names. */
const sessionIn = Effect.fnUntraced(function* (principal: Principal, workspaceId: WorkspaceId, given: Situation) {
  const write = yield* written
  const { id, turn_id } = yield* (yield* Sessions).create(principal, workspaceId, {
    ...(given.turn !== undefined && { message: "Work" })
  })
  if (turn_id !== undefined) yield* write.state("turns", turn_id, given.turn ?? "queued")
  // One turn may wait in a session here.
  if (given.isFull && given.turn !== "queued") yield* (yield* Messages).send(principal, id, { content: "Wait" })
  yield* write.session(id, {
    lifecycle: given.lifecycle,
    ...(!given.hasModel && { model: null })
  })
  yield* write.tree(id, given.hasWorkingTree ? "ready" : given.lifecycle === "closed" ? "removed" : "none")
  if (given.lease !== "none") yield* write.lease(id, given.lease, yield* now)
  yield* write.agent(id, given.contextLost ? 1 : 0)
  return { id, turnId: turn_id ?? "" }
})

const sessionCommands = (principal: Principal, id: SessionId) =>
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const executors = yield* SessionExecutors
    const commands: Record<SessionAction, Effect.Effect<unknown, unknown>> = {
      send_message: (yield* Messages).send(principal, id, { content: "Go on" }),
      activate_executor: executors.activate(principal, id, {}),
      archive: sessions.archive(principal, id),
      capture: (yield* Changesets).capture(principal, id, {}),
      close: sessions.close(principal, id),
      delete: (yield* Deletions).deleteSession(principal, id),
      delegate: (yield* Delegations).spawn(principal, id, { role: "tester", instructions: "Test it." }),
      release_executor: executors.release(principal, id, {}),
      switch_harness: (yield* HarnessSwitches).create(principal, id, {
        harness: { provider_id: "alpha" },
        summary: "Half done."
      }),
      unarchive: sessions.unarchive(principal, id),
      update: sessions.update(principal, id, { title: "Another" }),
      upload_file: (yield* SessionFiles).upload(principal, id, { path: "a.txt", content: "a" })
    }
    return commands
  })

const turnCommands = (principal: Principal, id: string) =>
  Effect.map(
    Turns,
    (turns): Record<TurnAction, Effect.Effect<unknown, unknown>> => ({
      acknowledge: turns.acknowledge(principal, id),
      cancel: turns.cancel(principal, id),
      retry: turns.retry(principal, id),
      update: turns.update(principal, id, { budget: { max_tokens: 1000 } })
    })
  )

const changesetCommands = (principal: Principal, id: string, target_session_id: SessionId) =>
  Effect.gen(function* () {
    const commands: Record<ChangesetAction, Effect.Effect<unknown, unknown>> = {
      apply: (yield* Applications).request(principal, id, { target_session_id }),
      deliver: (yield* Deliveries).request(principal, id, { transport: "patch" })
    }
    return commands
  })

const deliveryCommands = (principal: Principal, id: string) =>
  Effect.gen(function* () {
    const deliveries = yield* Deliveries
    const commands: Record<DeliveryAction, Effect.Effect<unknown, unknown>> = {
      cancel: deliveries.cancel(principal, id),
      open_merge_request: (yield* MergeRequests).open(principal, id, { base_branch: "main" }),
      refresh: deliveries.refresh(principal, id),
      retry: deliveries.retry(principal, id)
    }
    return commands
  })

const limits = { ...defaultLimits, queuedTurns: 1 }

for (const { layer, name } of flowDatabases) {
  describe(`what can be done now, on ${name}`, () => {
    suiteOver(services(layer, { limits }), { excludeTestServices: true })((it) => {
      it.effect(
        "a session lists the commands that its state takes, and no other one",
        () =>
          Effect.gen(function* () {
            const { principal, workspaceId } = yield* ownerWithConnection
            const trees = yield* WorkingTrees
            yield* property(situation, (given) =>
              tryAll(
                SessionAction.literals,
                (action) =>
                  Effect.gen(function* () {
                    const { id } = yield* sessionIn(principal, workspaceId, given)
                    // An upload writes into the workspace, so that has to be more than a word.
                    if (action === "upload_file" && given.hasWorkingTree) {
                      yield* (yield* written).tree(id, "none")
                      yield* trees.make(id)
                    }
                    const { actions: listed } = yield* (yield* Sessions).get(principal, id)
                    return { listed, commands: yield* sessionCommands(principal, id) }
                  }),
                given
              )
            )
          }),
        120_000
      )

      it.effect("a turn lists the commands that its state and that of its session take, and no other one", () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const withTurn = situation.chain((given) =>
            fc.constantFrom(...TurnState.literals).map((turn) => ({ ...given, turn }))
          )
          yield* property(withTurn, (given) =>
            tryAll(
              TurnAction.literals,
              () =>
                Effect.gen(function* () {
                  const { turnId } = yield* sessionIn(principal, workspaceId, given)
                  const { actions: listed } = yield* (yield* Turns).get(principal, turnId)
                  return { listed, commands: yield* turnCommands(principal, turnId) }
                }),
              given
            )
          )
        })
      )

      it.effect("a changeset lists the commands that its state takes, and no other one", () =>
        Effect.gen(function* () {
          const { principal, session } = yield* sealed
          const target = (yield* sealed).session.id
          const store = yield* ChangesetStore
          const journal = yield* Journal
          for (const state of changesetStates.states) {
            const make = Effect.gen(function* () {
              const id = yield* newId(ChangesetId)
              const from = { origin: "explicit", label: null, turnId: null } as const
              yield* journal.commit(store.open(id, session.id, system, from))
              if (state === "ready") yield* journal.commit(store.seal(id, captured, system))
              if (state === "failed") yield* journal.commit(store.fail(id, "No space.", system))
              const { actions: listed } = yield* (yield* Changesets).get(principal, id)
              return { listed, commands: yield* changesetCommands(principal, id, target) }
            })
            yield* tryAll(ChangesetAction.literals, () => make, state)
          }
        })
      )

      it.effect("a delivery lists the commands that its state takes, and no other one", () =>
        Effect.gen(function* () {
          const { changeset, principal } = yield* sealed
          const deliveries = yield* Deliveries
          const { state: setState } = yield* written
          let count = 0
          for (const state of deliveryStates.states) {
            for (const transport of DeliveryTransport.literals) {
              const make = Effect.gen(function* () {
                const { delivery } = yield* deliveries.request(principal, changeset.id, {
                  transport,
                  target_ref: `try-${count++}`
                })
                yield* setState("deliveries", delivery.id, state)
                const { actions: listed } = yield* deliveries.get(principal, delivery.id)
                return { listed, commands: yield* deliveryCommands(principal, delivery.id) }
              })
              yield* tryAll(DeliveryAction.literals, () => make, { state, transport })
            }
          }
        })
      )

      it.effect("a viewer and credentials that may only read can do nothing, and others read it in every answer", () =>
        Effect.gen(function* () {
          const { changeset, principal, session, workspaceId } = yield* sealed
          const sessions = yield* Sessions
          const turns = yield* Turns
          const deliveries = yield* Deliveries
          const sent = yield* sessions.create(principal, workspaceId, { message: "Work" })
          const { delivery } = yield* deliveries.request(principal, changeset.id, { transport: "patch" })
          const viewer = yield* stranger
          const db = yield* Database
          const membership = { workspace_id: workspaceId, account_id: viewer.accountId, role: "viewer" } as const
          const at = yield* now
          yield* (yield* Journal).commit(Memberships.add(db, { ...membership, created_at: at }))
          const seenBy = (who: Principal) =>
            Effect.gen(function* () {
              const turnId = sent.turn_id ?? ""
              const changesets = yield* Changesets
              const lists = [
                yield* sessions.list(who, workspaceId, { limit: 200 }),
                yield* turns.list(who, sent.id, {}),
                yield* changesets.list(who, session.id, {}),
                yield* deliveries.list(who, changeset.id, {})
              ]
              const one = [
                yield* sessions.get(who, sent.id),
                yield* turns.get(who, turnId),
                yield* changesets.get(who, changeset.id),
                yield* deliveries.get(who, delivery.id)
              ]
              for (const [index, { actions, id }] of one.entries()) {
                const listed = lists[index]?.items.find((item) => item.id === id)
                assert.deepStrictEqual(listed?.actions, actions)
              }
              return one.map(({ actions }) => actions.length > 0)
            })
          assert.deepStrictEqual(yield* seenBy(principal), [true, true, true, true])
          assert.deepStrictEqual(sent.actions, (yield* sessions.get(principal, sent.id)).actions)
          assert.deepStrictEqual(delivery.actions, ["cancel", "refresh"])
          for (const who of [viewer, { ...principal, scopes: ["read"] as const }]) {
            assert.deepStrictEqual(yield* seenBy(who), [false, false, false, false])
          }
          const commands = yield* sessionCommands(viewer, sent.id)
          for (const action of SessionAction.literals) {
            assert.strictEqual(yield* refusalOf(commands[action]), "forbidden", action)
          }
        })
      )
    })
  })
}
