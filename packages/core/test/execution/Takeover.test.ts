import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import * as Core from "@reins/core/Core"
import { Connections } from "@reins/core/connections/Connections"
import * as Embedded from "@reins/core/Embedded"
import { SessionExecutors } from "@reins/core/execution/executor/SessionExecutors"
import { PasswordCost } from "@reins/core/identity/Passwords"
import * as BootRecord from "@reins/core/placement/BootRecord"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { existingOf } from "@reins/core/store/Existing"
import * as Postgres from "@reins/core/store/Postgres"
import { AgentPool } from "@reins/machine/agents/AgentPool"
import { processesOf } from "@reins/testing/executor/Processes"
import { smallAgents } from "@reins/testing/harness/SmallAgent"
import { aMoment, aWhile } from "@reins/testing/process/Waiting"
import { migratedPostgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Exit, Layer, Logger, LogLevel, Scope } from "effect"
import { startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { canary, sayIn, temporaryDirectory } from "./Agent.js"

/** The processes of a data directory and a database: each has its own pool of agents, and works on jobs while it is told to. */
const makeProcesses = Effect.gen(function* () {
  const dataDir = join(yield* temporaryDirectory, "data")
  const url = yield* migratedPostgresDatabase
  const config = CoreConfig.layer({
    dataDir,
    executors: ["local"],
    allowPrivateHosts: ["127.0.0.1"],
    agentFreeMemory: 0,
    prewarm: false
  })
  return Effect.gen(function* () {
    const services = yield* Layer.build(
      Core.layerWith({ manifests: smallAgents }).pipe(
        Layer.provideMerge(Layer.mergeAll(config, BootRecord.layer(dataDir, { alone: false }), Postgres.layer(url))),
        Layer.provideMerge(Layer.merge(PasswordCost.layerTest, Logger.minimumLogLevel(LogLevel.Error)))
      )
    )
    return {
      run: Effect.provide(services),
      /** Works on jobs until the scope closes. The agents stay. */
      workIn: (scope: Scope.Scope) => Effect.provide(Scope.extend(Layer.build(Core.worker), scope), services)
    }
  })
})

/** A session with the processes of its newest lease. */
const agentOf = (sessionId: string) =>
  Effect.map(
    Effect.flatMap(SessionStore, (store) => existingOf("session", store.find)(sessionId)),
    (session) => ({
      session,
      leaseId: session.executor.lease?.id ?? "",
      agents: session.executor.lease === null ? [] : processesOf(session.executor.lease.id)
    })
  )

/** Sends a message and waits for its turn. */
const turnIn = (sessionId: string, text: string) => Effect.zipRight(sayIn(sessionId, text), agentOf(sessionId))

it.scopedLive(
  "a process that takes the next turn over ends the agent that another one keeps, which then ends nothing of its own",
  () =>
    Effect.gen(function* () {
      const gateway = yield* Effect.acquireRelease(
        Effect.promise(() => startGateway({ apiKey: canary })),
        (open) => Effect.promise(() => open.close())
      )
      const newProcess = yield* makeProcesses
      const [first, second] = [yield* newProcess, yield* newProcess]
      const working = yield* Scope.make()
      yield* first.workIn(working)
      const before = yield* Effect.gen(function* () {
        const { principal, workspaceId } = yield* Embedded.owner
        const connection = yield* (yield* Connections).create(principal, workspaceId, {
          kind: "alpha_gateway",
          label: "scripted",
          credential: { base_url: gateway.url, api_key: canary }
        })
        yield* (yield* Connections).update(principal, connection.id, { preferred_model: "scripted-1" })
        const create = (yield* Sessions).create(principal, workspaceId, {})
        const [used, unused] = yield* Effect.all([create, create])
        yield* (yield* SessionExecutors).activate(principal, unused.id, {})
        const ahead = yield* Effect.repeat(Effect.zipRight(aWhile, agentOf(unused.id)), {
          until: ({ agents }) => agents.length === 1
        })
        return { ...(yield* turnIn(used.id, "One.")), ahead }
      }).pipe(first.run)
      assert.lengthOf(before.agents, 1)
      // It takes no more jobs, and its agent is there still.
      yield* Scope.close(working, Exit.void)
      assert.deepStrictEqual(processesOf(before.leaseId), before.agents)

      yield* second.workIn(yield* Effect.scope)
      const next = (text: string) => second.run(turnIn(before.session.id, text))
      const after = yield* next("Two.")
      assert.include(JSON.stringify(gateway.requests.at(-1)?.messages), "One.")
      assert.strictEqual(after.session.agent.native_session_id, before.session.agent.native_session_id)
      assert.notStrictEqual(after.leaseId, before.leaseId)
      assert.deepStrictEqual([processesOf(before.leaseId).length, after.agents.length], [0, 1])

      // One that was started ahead of its first turn has no native session yet, and is known all the same.
      const begun = yield* second.run(turnIn(before.ahead.session.id, "One."))
      assert.notStrictEqual(begun.leaseId, before.ahead.leaseId)
      assert.deepStrictEqual([processesOf(before.ahead.leaseId).length, begun.agents.length], [0, 1])

      const pool = yield* first.run(AgentPool)
      yield* Effect.repeat(Effect.zipRight(aMoment, pool.isKept(before.leaseId)), { until: (isKept) => !isKept })
      yield* pool.stop(before.leaseId)
      assert.deepStrictEqual((yield* next("Three.")).agents, after.agents)
    }),
  120_000
)
