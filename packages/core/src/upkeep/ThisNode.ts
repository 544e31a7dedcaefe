import { Boot } from "@reins/base/base/Boot"
import { bootDirectoryRemoval } from "@reins/base/base/BootDirectory"
import { AgentPool } from "@reins/machine/agents/AgentPool"
import { Executors } from "@reins/machine/executor/Executors"
import * as Guard from "@reins/machine/executor/Guard"
import { HarnessInstall } from "@reins/machine/harness/Install"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Effect, Option } from "effect"
import { Nodes } from "../placement/Nodes.js"
import { Placements } from "../placement/Placements.js"
import type { WorkspaceSeed } from "../sessions/creation/SessionOrigin.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { adoptSessions } from "./AdoptSessions.js"
import { makeGiveAway } from "./HandOver.js"

/** Tells the other nodes which agents are installed on this one. */
const tellAgents = Effect.gen(function* () {
  const { tell } = yield* Nodes
  const manifests = yield* Manifests
  const install = yield* HarnessInstall
  const isInstalled = (providerId: string) =>
    Effect.map(Effect.orElseSucceed(install.find(providerId), Option.none), Option.isSome)
  const installed = Effect.suspend(() =>
    Effect.filter(
      manifests.list.map((manifest) => manifest.provider_id),
      isInstalled,
      { concurrency: "unbounded" }
    )
  )
  yield* tell({ providers: installed })
})

/** Says by what the node of a session is chosen. A session is best beside the one that its files begin with. */
const tellNeeds = Effect.gen(function* () {
  const { describe } = yield* Placements
  const sessions = yield* SessionStore
  yield* describe((id) =>
    Effect.map(sessions.find(id), (row) => {
      const seed: WorkspaceSeed | null = JSON.parse(row?.tree.seed ?? "null")
      return {
        providerId: row?.provider_id ?? null,
        besideId: seed?.session_id ?? row?.lineage.parent_session_id ?? null
      }
    })
  )
})

/** Has the agents of this node ended in time, also when this process stands still. */
const guardAgents = Effect.gen(function* () {
  const { onHeld, role } = yield* Nodes
  if (role === "api") return
  const { bootId } = yield* Boot
  const { sweepCommands } = yield* Executors
  // The executors are looked for beside the start, and no agent begins before they are found.
  yield* sweepCommands.pipe(
    Effect.flatMap((sweeps) => Guard.make({ bootId, sweeps: [bootDirectoryRemoval(bootId), ...sweeps] })),
    Effect.flatMap(({ until }) => onHeld(until)),
    Effect.zipRight(Effect.never),
    Effect.forkScoped
  )
})

/** Stops agents when the node is lost, because another one may have their sessions next. Agents that work on turns end with those. */
const endAgents = Effect.flatMap(Effect.all([AgentPool, Nodes]), ([{ stopAll }, { onLost }]) => onLost(stopAll))

/** The begin of a node of several, before it works on anything. From then on it gives its sessions away whenever it drains. */
export const begin = Effect.all([endAgents, adoptSessions, guardAgents, tellAgents, tellNeeds, makeGiveAway], {
  discard: true
})
