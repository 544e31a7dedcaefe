import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { SessionId } from "@reins/base/domain/Ids"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect, Layer, Queue } from "effect"
import { Nodes } from "../../placement/Nodes.js"
import { Placements } from "../../placement/Placements.js"
import { SessionListeners } from "../../sessions/rows/SessionListeners.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import { expectedTopic } from "../../store/Bell.js"
import { Journal } from "../../store/Journal.js"
import * as Loop from "../../store/Loop.js"
import { TurnSetup } from "../setup/TurnSetup.js"
import { agentsAhead } from "./AgentAhead.js"

/** The sessions that are made ready at once, so that turns keep the rest of the machine. */
const concurrency = 2

/** The sessions that wait for it. Their first turns make ready what is left out. */
const maxWaiting = 16

/** The longest time in milliseconds by which a lost ring delays a session that this node is to expect. */
const lookMs = 15_000

/**
 * Makes the workspaces of new sessions and starts their agents, while their first messages are still being written. Nothing is promised of it and
 * nothing is kept of it: what has failed or was left out is made by the first turn, as it is without this.
 */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { agentIdleMs, limits, prewarm } = yield* CoreConfig
    // A working tree that no turn needs would take the place of one that does.
    if (!prewarm || agentIdleMs === 0 || limits.workingTreesPerWorkspace !== null) return
    const journal = yield* Journal
    const listeners = yield* SessionListeners
    const nodes = yield* Nodes
    const waiting = yield* Queue.dropping<SessionId>(maxWaiting)
    // A node that has no sessions makes none ready.
    if (nodes.role !== "api") {
      const makeReady = yield* makeAhead
      const work = Loop.start({
        failure: "a session cannot be made ready ahead of its first turn",
        everyMs: 0,
        round: Effect.flatMap(Queue.take(waiting), makeReady)
      })
      yield* Effect.replicateEffect(work, concurrency)
      if (nodes.self !== null) yield* makeExpect(nodes.self, waiting)
    }
    const begun = nodes.self === null ? waiting : yield* makeAnnounce
    yield* listeners.register({ begun: ({ id }) => journal.afterCommit(Effect.asVoid(Queue.offer(begun, id))) })
  })
)

/** Gives new sessions to nodes, which are told of them. */
const makeAnnounce = Effect.gen(function* () {
  const placements = yield* Placements
  const begun = yield* Queue.dropping<SessionId>(maxWaiting)
  yield* Loop.start({
    failure: "a session could not be given a node ahead of its first turn",
    everyMs: 0,
    round: Effect.flatMap(Queue.take(begun), placements.expect)
  })
  return begun
})

/** Takes the sessions that this node is told to expect, whichever node they were made on. */
const makeExpect = Effect.fnUntraced(function* (self: string, waiting: Queue.Enqueue<SessionId>) {
  const placements = yield* Placements
  yield* Loop.start({
    failure: "the sessions to be made ready could not be looked up",
    topics: [expectedTopic(self)],
    everyMs: lookMs,
    round: Effect.asVoid(Effect.flatMap(placements.expected, (ids) => Queue.offerAll(waiting, ids)))
  })
})

const makeAhead = Effect.gen(function* () {
  const { agents } = yield* Bench
  const sessions = yield* SessionStore
  const setup = yield* TurnSetup
  const ahead = yield* agentsAhead

  return Effect.fnUntraced(
    function* (id: SessionId) {
      const session = yield* sessions.find(id)
      if (session === undefined || !(yield* agents.hasRoom) || !(yield* setup.isInstalled(session))) return
      // A turn that comes meanwhile waits for the same workspace, and not for its session.
      yield* ahead.prepare(id)
      yield* Effect.flatten(ahead.start(id))
    },
    Effect.catchTag("GitError", () => Effect.void),
    // The log tells of the failure.
    Effect.orDie
  )
})
