import * as NodeRows from "@reins/core/placement/NodeRows"
import { Nodes } from "@reins/core/placement/Nodes"
import { Database } from "@reins/core/store/Database"
import { logDefect } from "@reins/core/store/FailedStatement"
import { Effect, Layer } from "effect"
import { allowMore } from "../../StopDeadline.js"

/** The time between two looks for sessions that are left, in milliseconds. */
const lookMs = 250

/** Waits until the node has no session any more. A node that has lost its lease can give none away. */
const untilEmpty = (db: Database["Type"], nodes: Nodes["Type"], name: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    while (nodes.holds() && (yield* NodeRows.held(db)).has(name)) yield* Effect.sleep(lookMs)
  })

/**
 * Lets a node that is told to stop give its sessions to the others first, once their turns have ended, for so many seconds at most. Meanwhile it
 * serves as before. It has to be made after everything that serves.
 */
export const drainAtStop = (seconds: number) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const db = yield* Database
      const nodes = yield* Nodes
      const name = nodes.self
      if (name === null || seconds === 0) return
      allowMore(seconds * 1000)
      const drain = Effect.gen(function* () {
        if (!(yield* NodeRows.drain(db, name))) return
        yield* Effect.logInfo(`the node ${name} gives its sessions away before it stops`, { seconds })
        yield* untilEmpty(db, nodes, name)
      })
      yield* Effect.addFinalizer(() =>
        Effect.interruptible(drain).pipe(
          Effect.timeoutOption(`${seconds} seconds`),
          Effect.catchAllDefect((defect) => logDefect("the node could not give its sessions away", defect))
        )
      )
    })
  )
