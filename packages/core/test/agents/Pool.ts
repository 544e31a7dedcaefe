import { CoreConfig } from "@reins/base/base/CoreConfig"
import { type Observations, Observer } from "@reins/base/base/Observer"
import { AgentPool, type PooledTurn } from "@reins/machine/agents/AgentPool"
import { WayOut } from "@reins/machine/outbound/WayOut"
import { processesOf } from "@reins/testing/executor/Processes"
import { services as harness, place, turnInput } from "@reins/testing/harness/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect, Layer, Stream } from "effect"
import { services as credentials } from "../relay/Loans.js"

/** The reports of the pools of this file, oldest first. */
export interface Told {
  readonly taken: Array<string>
  readonly kept: Array<number>
}

/** A pool that keeps agents for long, unless it is told otherwise. */
export const poolWith = (config: Partial<CoreConfig["Type"]> = {}, told: Told = { taken: [], kept: [] }) => {
  const nothing = () => Effect.void
  const observations: Observations = {
    turnBegun: nothing,
    turnEnded: nothing,
    deliveryEnded: nothing,
    jobEnded: nothing,
    agentTaken: (_, start) => Effect.sync(() => void told.taken.push(start)),
    agentsKept: (count) => Effect.sync(() => void told.kept.push(count)),
    webhookAttempted: () => Effect.void,
    webhookDisabled: () => Effect.void
  }
  return AgentPool.layer.pipe(
    Layer.provideMerge(Layer.merge(harness, credentials)),
    Layer.provide(WayOut.layerWith({ allowPrivateHosts: ["127.0.0.1"] })),
    Layer.provide(Layer.succeed(Observer, observations)),
    Layer.provide(
      CoreConfig.layer({ dataDir: "/nowhere", agentIdleMs: 600_000, agentFreeMemory: 0, maxIdleAgents: 100, ...config })
    )
  )
}

export const steps = (...all: ReadonlyArray<object>) => [{ type: "text" as const, text: JSON.stringify(all) }]

/** A session with its lease, whose turns run one after the other on the scripted agent. */
export const newSession = Effect.gen(function* () {
  const pool = yield* AgentPool
  const where = yield* place
  const stops: Array<string> = []
  const first = turnInput(where, "")
  const base: PooledTurn = {
    ...first,
    network: undefined,
    stopped: Effect.sync(() => stops.push(processesOf(first.leaseId).length === 0 ? "gone" : "there"))
  }
  const turn = (work: ReadonlyArray<object>, changes: Partial<PooledTurn> = {}) =>
    Effect.map(Stream.runCollect(pool.run({ ...base, prompt: steps(...work), ...changes })), (events) => [...events])
  return {
    ...where,
    base,
    turn,
    /** The moments at which the pool said that it had stopped the agent: whether anything of it was still there. */
    stops,
    leaseId: base.leaseId,
    pids: () => processesOf(base.leaseId),
    until: (what: string, isSo: () => boolean) => Effect.promise(() => eventually(what, isSo))
  }
})
