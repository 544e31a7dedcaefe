import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { fromNow } from "@reins/base/domain/Timestamp"
import { Changesets } from "@reins/core/changes/Changesets"
import { Connections } from "@reins/core/connections/Connections"
import * as Embedded from "@reins/core/Embedded"
import { releaseIdleExecutors } from "@reins/core/execution/executor/IdleExecutors"
import { NativeStateExport } from "@reins/core/execution/executor/NativeStateExport"
import { SessionExecutors } from "@reins/core/execution/executor/SessionExecutors"
import { leaseStateOf } from "@reins/core/sessions/rows/SessionRow"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { existingOf } from "@reins/core/store/Existing"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { sessionPaths } from "@reins/machine/bench/SessionPaths"
import { processesOf } from "@reins/testing/executor/Processes"
import { smallAgents } from "@reins/testing/harness/SmallAgent"
import { Effect, Schedule } from "effect"
import { script, startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { canary, installation, makeRemote, say, sayIn, temporaryDirectory, withAgent } from "./Agent.js"

const existing = (id: string) => Effect.flatMap(SessionStore, (store) => existingOf("session", store.find)(id))

const rowOf = (id: string) => Effect.flatMap(SessionStore, (store) => store.find(id))

const statesOf = (id: string) => Effect.map(existing(id), (row) => [leaseStateOf(row), row.tree.state])

/** The processes of the newest lease of a session. */
const agentsOf = (id: string) =>
  Effect.map(rowOf(id), (row) => (row?.executor.lease == null ? [] : processesOf(row.executor.lease.id)))

/** Waits for the agent of a session. */
const started = (id: string) =>
  Effect.zipRight(
    Effect.repeat(agentsOf(id), { until: (found) => found.length === 1, schedule: Schedule.spaced("20 millis") }),
    agentsOf(id)
  )

it.scopedLive(
  "a session keeps its agent between turns, and what touches its state or its lease stops it first",
  () =>
    withAgent("alpha_gateway", ({ eventsUntil, gateway, principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const session = yield* (yield* Sessions).create(principal, workspaceId, {})
        const turn = Effect.fnUntraced(function* (text: string) {
          const ended = yield* runTurn(session.id, say(text))
          assert.strictEqual(ended.state, "succeeded", JSON.stringify(ended))
          return yield* agentsOf(session.id)
        })
        const first = yield* turn("One.")
        assert.lengthOf(first, 1)
        assert.strictEqual((yield* rowOf(session.id))?.agent.native_digest, "live")
        assert.deepStrictEqual(yield* turn("Two."), first)
        assert.include(JSON.stringify(gateway.requests.at(-1)?.messages), "One.")

        // An export reads what the agent has left, and the next turn goes on from it.
        const before = yield* Effect.flatMap(NativeStateExport, (exports) => exports.read(principal, session.id))
        assert.deepStrictEqual(yield* agentsOf(session.id), [])
        assert.strictEqual((yield* rowOf(session.id))?.agent.native_digest, before.state_digest)
        const third = yield* turn("Three.")
        assert.notDeepEqual(third, first)
        assert.include(JSON.stringify(gateway.requests.at(-1)?.messages), "Two.")

        // An agent that is killed between turns has left nothing undone.
        process.kill(third[0] ?? 0, "SIGKILL")
        const state = Effect.map(rowOf(session.id), (row) => row?.agent.native_digest)
        yield* Effect.repeat(state, { until: (digest) => digest !== "live", schedule: Schedule.spaced("20 millis") })
        const fourth = yield* turn("Four.")
        assert.notDeepEqual(fourth, third)

        // A release leaves nothing of the lease, and the state as the agent left it.
        const { executor } = yield* (yield* SessionExecutors).release(principal, session.id, {})
        yield* eventsUntil(session.id, ({ type }) => type === "executor.released")
        assert.deepStrictEqual(processesOf(executor.lease.id ?? ""), [])
        assert.notStrictEqual((yield* rowOf(session.id))?.agent.native_digest, "live")
        assert.lengthOf(yield* turn("Five."), 1)
        assert.include(JSON.stringify(gateway.requests.at(-1)?.messages), "Four.")

        // So does an executor that nobody has used for long.
        yield* Effect.flatMap(Effect.all([releaseIdleExecutors, fromNow(1000)]), ([release, soon]) => release(soon))
        const idle = (yield* rowOf(session.id))?.executor.lease?.id ?? ""
        yield* eventsUntil(
          session.id,
          ({ payload, type }) => type === "executor.released" && "lease_id" in payload && payload["lease_id"] === idle
        )
        assert.deepStrictEqual(processesOf(idle), [])
      })
    ),
  180_000
)

it.scopedLive(
  "an activation starts the agent that the first turn then runs on",
  () =>
    withAgent("alpha_gateway", ({ principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const session = yield* (yield* Sessions).create(principal, workspaceId, {})
        yield* (yield* SessionExecutors).activate(principal, session.id, {})
        const ahead = yield* started(session.id)
        assert.isNull((yield* rowOf(session.id))?.agent.native_session_id)
        const turn = yield* runTurn(session.id, say("One."))
        assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
        assert.deepStrictEqual(yield* agentsOf(session.id), ahead)
      })
    ),
  120_000
)

it.scopedLive(
  "a session that is made gets its workspace and its agent ahead of its first turn, unless its creator leaves it alone",
  () =>
    withAgent(
      "alpha_gateway",
      ({ dataDir, directory, eventsUntil, gateway, principal, runTurn, workspaceId }) =>
        Effect.gen(function* () {
          const sessions = yield* Sessions
          const { url } = makeRemote(directory)
          const idle = yield* sessions.create(principal, workspaceId, { prewarm: false })
          const gone = { url: join(directory, "nowhere.git") }
          const broken = yield* sessions.create(principal, workspaceId, { repository: gone })
          const session = yield* sessions.create(principal, workspaceId, { repository: { url } })
          yield* eventsUntil(session.id, ({ type }) => type === "executor.ready")
          const ahead = yield* started(session.id)
          const row = yield* rowOf(session.id)
          assert.deepStrictEqual([row?.tree.state, row?.agent.native_session_id], ["ready", null])
          assert.isTrue(existsSync(join(sessionPaths(dataDir, session.id).workTree, "sum.js")))
          // Nobody's model was asked, and the client's own version is as it was.
          assert.deepStrictEqual(gateway.requests, [])
          assert.strictEqual((yield* sessions.get(principal, session.id)).version, session.version)
          const turn = yield* runTurn(session.id, say("One."))
          assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
          assert.deepStrictEqual(yield* agentsOf(session.id), ahead)

          // The sessions before it were dealt with by then.
          assert.deepStrictEqual(yield* statesOf(idle.id), ["none", "none"])
          assert.deepStrictEqual(yield* statesOf(broken.id), ["lost", "preparing"])
          const failed = yield* runTurn(broken.id, say("One."))
          assert.deepInclude(failed, { state: "failed", reason: "executor_unavailable" })

          // One that is closed before its first turn leaves nothing.
          const unused = yield* sessions.create(principal, workspaceId, {})
          yield* eventsUntil(unused.id, ({ type }) => type === "executor.ready")
          const [pid = 0] = yield* started(unused.id)
          yield* sessions.close(principal, unused.id)
          yield* eventsUntil(unused.id, ({ type }) => type === "executor.released")
          assert.isFalse(existsSync(`/proc/${pid}`))
        }),
      { prewarm: true }
    ),
  120_000
)

it.scopedLive(
  "what is written between two turns is captured with the next one, which tells of it, and of nothing else",
  () =>
    withAgent("alpha_gateway", ({ dataDir, eventsUntil, principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const session = yield* (yield* Sessions).create(principal, workspaceId, {})
        const { workTree } = sessionPaths(dataDir, session.id)
        const write = (path: string) => script("Write.", { tool: "write", path, content: "by a turn\n" })
        yield* runTurn(session.id, write("one.txt"))
        for (const name of ["late.txt", "one.txt", "both.txt"]) writeFileSync(join(workTree, name), "by nobody\n")
        // A file of the last ticks of the kernel cannot be told from one of the turn.
        const written = Date.now()
        yield* Effect.repeat(Effect.sync(Date.now), { until: (at) => at > written + 20 })
        const upload = { path: "uploaded.txt", content: "by a person\n", encoding: "utf-8" as const }
        yield* (yield* SessionFiles).upload(principal, session.id, upload)
        const second = yield* runTurn(session.id, write("both.txt"))
        const third = yield* runTurn(session.id, write("three.txt"))
        const events = yield* eventsUntil(
          session.id,
          ({ turn_id, type }) => turn_id === third.id && type === "turn.succeeded"
        )
        const told = events.filter(({ type }) => type === "workspace.changed")
        assert.deepStrictEqual(
          told.map(({ payload, turn_id }) => [payload["path"], turn_id]),
          [
            ["uploaded.txt", undefined],
            ["late.txt", second.id],
            ["one.txt", second.id]
          ]
        )
        const sealed = yield* Effect.flatMap(Changesets, (sets) => sets.list(principal, session.id, {}))
        const ofSecond = sealed.items.find(({ source_turn_id }) => source_turn_id === second.id)
        assert.deepStrictEqual(
          ofSecond?.files.map(({ path }) => path),
          ["both.txt", "late.txt", "one.txt", "uploaded.txt"]
        )
      })
    ),
  60_000
)

it.scopedLive(
  "a service that ends stops the agents that it keeps, and the next one resumes their sessions",
  () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const gateway = yield* Effect.acquireRelease(
        Effect.promise(() => startGateway({ apiKey: canary })),
        (open) => Effect.promise(() => open.close())
      )
      const running = installation(join(directory, "data"), {}, smallAgents)
      const turn = (sessionId: string, text: string) => Effect.zipRight(sayIn(sessionId, text), existing(sessionId))
      const before = yield* Effect.gen(function* () {
        const { principal, workspaceId } = yield* Embedded.owner
        const connection = yield* (yield* Connections).create(principal, workspaceId, {
          kind: "alpha_gateway",
          label: "scripted",
          credential: { base_url: gateway.url, api_key: canary }
        })
        yield* (yield* Connections).update(principal, connection.id, { preferred_model: "scripted-1" })
        const session = yield* (yield* Sessions).create(principal, workspaceId, {})
        const row = yield* turn(session.id, "One.")
        assert.strictEqual(row.agent.native_digest, "live")
        assert.lengthOf(processesOf(row.executor.lease?.id ?? ""), 1)
        return row
      }).pipe(Effect.provide(running))
      assert.deepStrictEqual(processesOf(before.executor.lease?.id ?? ""), [])
      yield* Effect.gen(function* () {
        const stopped = yield* rowOf(before.id)
        assert.match(stopped?.agent.native_digest ?? "", /^sha256:/)
        const after = yield* turn(before.id, "Two.")
        assert.strictEqual(after.agent.native_session_id, before.agent.native_session_id)
        assert.include(JSON.stringify(gateway.requests.at(-1)?.messages), "One.")
      }).pipe(Effect.provide(running))
    }),
  120_000
)
