import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { Event } from "@reins/base/domain/Event"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { fromNow } from "@reins/base/domain/Timestamp"
import * as Core from "@reins/core/Core"
import { Changesets } from "@reins/core/changes/Changesets"
import { EventFeed } from "@reins/core/events/EventFeed"
import { EventLog } from "@reins/core/events/EventLog"
import { releaseIdleExecutors } from "@reins/core/execution/executor/IdleExecutors"
import { SessionExecutors } from "@reins/core/execution/executor/SessionExecutors"
import { Messages } from "@reins/core/sessions/Messages"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { Journal } from "@reins/core/store/Journal"
import { Leases } from "@reins/core/worktrees/Leases"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { operationEnd } from "@reins/testing/changes/Fixture"
import { within } from "@reins/testing/MachineTime"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { databases, flowDatabases } from "@reins/testing/store/Databases"
import { Chunk, Effect, Layer, Stream } from "effect"
import { makeRemote, temporaryDirectory } from "./Agent.js"

const codeOf = <A, E>(effect: Effect.Effect<A, E | ReinsError>) =>
  Effect.map(Effect.flip(effect), (error) =>
    typeof error === "object" && error !== null && "code" in error ? error.code : error
  )

const system = { kind: "system", id: "test" } as const

/** The types of the events of a session that begin with a word, in order. */
const eventsOf = Effect.fnUntraced(function* (principal: Principal, sessionId: string, prefix: string) {
  const { items } = yield* (yield* EventLog).page(principal, sessionId, { after: 0, limit: 1000 })
  return items.map((event) => event.type).filter((type) => type.startsWith(prefix))
})

const until = Effect.fnUntraced(function* (principal: Principal, sessionId: string, wanted: (event: Event) => boolean) {
  const events = (yield* EventFeed).stream(principal, sessionId, { after: 0 }).pipe(Stream.takeUntil(wanted))
  return Chunk.toReadonlyArray(yield* Stream.runCollect(events).pipe(within(30)))
})

const ofType = (type: string, count = 1) => {
  let seen = 0
  return (event: Event) => event.type === type && ++seen === count
}

const working = (layer: (typeof databases)[number]["layer"]) => Layer.provideMerge(Core.worker, services(layer))

for (const { layer, name } of databases)
  describe(`an executor on ${name}`, () => {
    it.scopedLive("a release captures first, keeps the workspace, and the next activation begins a new lease", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const executors = yield* SessionExecutors
        const files = yield* SessionFiles
        const session = yield* (yield* Sessions).create(principal, workspaceId, {})
        assert.strictEqual(yield* codeOf(executors.release(principal, session.id, {})), "invalid_transition")
        yield* executors.activate(principal, session.id, {})
        yield* until(principal, session.id, ofType("executor.ready"))
        yield* files.upload(principal, session.id, { path: "notes.txt", content: "kept" })
        const before = yield* executors.get(principal, session.id)
        const released = yield* executors.release(principal, session.id, {})
        assert.strictEqual(released.executor.lease.state, "quiescing")
        const events = yield* until(principal, session.id, ofType("executor.released"))
        const types = events.map((event) => event.type)
        assert.isBelow(types.indexOf("changeset.ready"), types.indexOf("executor.released"))
        const [salvaged] = (yield* (yield* Changesets).list(principal, session.id, {})).items
        assert.deepStrictEqual([salvaged?.origin, salvaged?.files[0]?.path], ["salvage", "notes.txt"])
        assert.strictEqual((yield* files.read(principal, session.id, "notes.txt")).content, "kept")
        assert.strictEqual(yield* codeOf(executors.release(principal, session.id, {})), "invalid_transition")
        yield* executors.activate(principal, session.id, {})
        yield* until(principal, session.id, ofType("executor.ready", 2))
        const after = yield* executors.get(principal, session.id)
        assert.notStrictEqual(after.lease.id, before.lease.id)
        assert.strictEqual((yield* files.read(principal, session.id, "notes.txt")).content, "kept")
      }).pipe(Effect.provide(working(layer)))
    )
  })

for (const { layer, name } of flowDatabases) {
  const asleep = services(layer)

  describe(`executors on ${name}`, () => {
    it.scopedLive(
      "an activation makes the lease and the workspace, and repeating it is an operation that does nothing",
      () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const executors = yield* SessionExecutors
          const session = yield* (yield* Sessions).create(principal, workspaceId, {})
          const first = yield* executors.activate(principal, session.id, {})
          assert.strictEqual(first.operation.state, "queued")
          assert.strictEqual(first.executor.lease.state, "allocating")
          yield* until(principal, session.id, ofType("executor.ready"))
          const ready = yield* executors.get(principal, session.id)
          assert.deepStrictEqual([ready.lease.state, ready.workspace.state], ["ready", "ready"])
          assert.strictEqual(ready.lease.id, first.executor.lease.id)
          const again = yield* executors.activate(principal, session.id, {})
          assert.notStrictEqual(again.operation.id, first.operation.id)
          assert.strictEqual(again.executor.lease.id, first.executor.lease.id)
          assert.strictEqual((yield* operationEnd(again.operation.id)).state, "succeeded")
          assert.deepStrictEqual(yield* eventsOf(principal, session.id, "executor."), [
            "executor.allocating",
            "executor.ready"
          ])
        }).pipe(Effect.provide(working(layer)))
    )

    it.scopedLive("a release is refused while a turn waits, and by force cancels it", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const executors = yield* SessionExecutors
        const session = yield* (yield* Sessions).create(principal, workspaceId, {})
        yield* (yield* WorkingTrees).prepare(session.id)
        const { turn_id: turnId } = yield* (yield* Messages).send(principal, session.id, { content: "Go" })
        assert.strictEqual(yield* codeOf(executors.release(principal, session.id, {})), "turn_active")
        assert.strictEqual(yield* codeOf(executors.release(principal, session.id, { force: false })), "turn_active")
        const released = yield* executors.release(principal, session.id, { force: true })
        assert.strictEqual(released.executor.lease.state, "quiescing")
        assert.strictEqual((yield* (yield* Turns).get(principal, turnId ?? "")).state, "cancelled")
        // An executor that is being released can be asked for again without another move.
        assert.strictEqual((yield* executors.release(principal, session.id, {})).executor.lease.state, "quiescing")
        assert.deepStrictEqual(yield* eventsOf(principal, session.id, "executor."), [
          "executor.allocating",
          "executor.ready",
          "executor.quiescing"
        ])
      }).pipe(Effect.provide(asleep))
    )

    it.scopedLive("work that comes before a release is through takes a lease of its own", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const executors = yield* SessionExecutors
        const trees = yield* WorkingTrees
        const session = yield* (yield* Sessions).create(principal, workspaceId, {})
        const first = yield* trees.prepare(session.id)
        yield* executors.release(principal, session.id, {})
        const second = yield* trees.prepare(session.id)
        assert.strictEqual(second.executor.lease?.state, "ready")
        assert.notStrictEqual(second.executor.lease?.id, first.executor.lease?.id)
        assert.deepStrictEqual((yield* eventsOf(principal, session.id, "executor.")).slice(2), [
          "executor.quiescing",
          "executor.released",
          "executor.allocating",
          "executor.ready"
        ])
      }).pipe(Effect.provide(asleep))
    )

    it.scopedLive("an executor that nobody uses is released, one with a turn in sight is not", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const executors = yield* SessionExecutors
        const trees = yield* WorkingTrees
        const sessions = yield* Sessions
        const releaseIdle = yield* releaseIdleExecutors
        const idle = yield* sessions.create(principal, workspaceId, {})
        const busy = yield* sessions.create(principal, workspaceId, {})
        yield* trees.prepare(idle.id)
        yield* trees.prepare(busy.id)
        yield* (yield* Messages).send(principal, busy.id, { content: "Go" })
        assert.strictEqual(yield* releaseIdle(yield* fromNow(-60_000)), 0)
        assert.strictEqual(yield* releaseIdle(yield* fromNow(1000)), 1)
        assert.strictEqual((yield* executors.get(principal, idle.id)).lease.state, "quiescing")
        assert.strictEqual((yield* executors.get(principal, busy.id)).lease.state, "ready")
        assert.strictEqual(yield* releaseIdle(yield* fromNow(1000)), 0)
      }).pipe(Effect.provide(asleep))
    )

    it.scopedLive("a worker releases by itself what was idle before it started, and its files stay", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const session = yield* (yield* Sessions).create(principal, workspaceId, {})
        yield* (yield* WorkingTrees).prepare(session.id)
        yield* (yield* SessionFiles).upload(principal, session.id, { path: "a", content: "a" })
        const config = yield* CoreConfig
        const impatient = Layer.succeed(CoreConfig, { ...config, idleReleaseMs: 100 })
        yield* until(principal, session.id, ofType("executor.released")).pipe(
          Effect.provide(Layer.provide(Core.worker, impatient))
        )
        assert.isTrue(existsSync(join((yield* pathsOf(session.id)).workTree, "a")))
        const events = yield* (yield* EventLog).page(principal, session.id, { after: 0, limit: 1000 })
        const released = events.items.find((event) => event.type === "executor.released")
        assert.strictEqual(released?.payload["reason"], "idle")
      }).pipe(Effect.provide(asleep))
    )

    it.scopedLive(
      "a workspace that cannot be made loses the lease and says why, and the next activation begins another",
      () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const executors = yield* SessionExecutors
          const files = yield* SessionFiles
          const directory = yield* temporaryDirectory
          const url = join(directory, "remote.git")
          const session = yield* (yield* Sessions).create(principal, workspaceId, { repository: { url } })
          const { executor, operation } = yield* executors.activate(principal, session.id, {})
          yield* until(principal, session.id, ofType("executor.lost"))
          const failed = yield* operationEnd(operation.id)
          assert.include(JSON.stringify(failed), "The workspace could not be made")
          const lost = (yield* until(principal, session.id, ofType("executor.lost"))).at(-1)
          assert.strictEqual(lost?.payload["lease_id"], executor.lease.id)
          const { lease } = yield* executors.get(principal, session.id)
          assert.deepStrictEqual([lease.id, lease.state], [executor.lease.id, "lost"])
          assert.strictEqual((yield* (yield* Sessions).get(principal, session.id)).executor.state, "lost")
          const upload = files.upload(principal, session.id, { path: "a", content: "a" })
          assert.strictEqual(yield* codeOf(upload), "executor_unavailable")
          assert.strictEqual(yield* codeOf(executors.release(principal, session.id, {})), "invalid_transition")

          assert.strictEqual(makeRemote(directory).url, url)
          yield* executors.activate(principal, session.id, {})
          yield* until(principal, session.id, ofType("executor.ready"))
          const next = yield* executors.get(principal, session.id)
          assert.deepStrictEqual([next.lease.state, next.workspace.state], ["ready", "ready"])
          assert.notStrictEqual(next.lease.id, lease.id)
          assert.include((yield* files.read(principal, session.id, "package.json")).content, "sum")
          assert.deepStrictEqual(yield* eventsOf(principal, session.id, "executor."), [
            "executor.allocating",
            "executor.lost",
            "executor.allocating",
            "executor.ready"
          ])
        }).pipe(Effect.provide(Layer.provideMerge(Core.worker, services(layer, { allowLocalRepositories: true }))))
    )

    it.scopedLive("a workspace that is removed leaves no lease behind", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const session = yield* (yield* Sessions).create(principal, workspaceId, {})
        const trees = yield* WorkingTrees
        yield* trees.prepare(session.id)
        yield* trees.remove(session.id)
        const { lease, workspace } = yield* (yield* SessionExecutors).get(principal, session.id)
        assert.deepStrictEqual([lease.state, workspace.state], ["lost", "removed"])
      }).pipe(Effect.provide(asleep))
    )

    it.scopedLive("closed and archived sessions are not activated, and a lease that ended is not moved again", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const executors = yield* SessionExecutors
        const sessions = yield* Sessions
        const journal = yield* Journal
        const leases = yield* Leases
        const session = yield* sessions.create(principal, workspaceId, {})
        yield* journal.commit(leases.allocate(session.id, system))
        yield* journal.commit(leases.lose(session.id, system, "test"))
        yield* journal.commit(leases.lose(session.id, system, "test"))
        const moved = yield* Effect.exit(journal.commit(leases.move(session.id, "ready", system, null)))
        assert.strictEqual(moved._tag, "Failure")
        assert.deepStrictEqual(yield* eventsOf(principal, session.id, "executor."), [
          "executor.allocating",
          "executor.lost"
        ])
        yield* sessions.archive(principal, session.id)
        assert.strictEqual(yield* codeOf(executors.activate(principal, session.id, {})), "invalid_transition")
        yield* sessions.close(principal, session.id)
        assert.strictEqual(yield* codeOf(executors.activate(principal, session.id, {})), "invalid_transition")
        assert.strictEqual(yield* codeOf(executors.release(principal, session.id, {})), "invalid_transition")
        assert.strictEqual((yield* (yield* SessionStore).find(session.id))?.executor.lease?.state, "lost")
      }).pipe(Effect.provide(asleep))
    )
  })
}
