import type { TakeSeat } from "@reins/core/placement/cluster/StreamSeats"
import { Nodes } from "@reins/core/placement/Nodes"
import { Effect } from "effect"

/** The seats of this process alone. */
const seatsHere: Effect.Effect<TakeSeat> = Effect.sync(() => {
  const taken = new Map<string, number>()
  return (seat, limit) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const before = taken.get(seat) ?? 0
        if (before < limit) taken.set(seat, before + 1)
        return before < limit
      }),
      (isTaken) =>
        Effect.sync(() => {
          if (!isTaken) return
          const left = (taken.get(seat) ?? 1) - 1
          if (left === 0) taken.delete(seat)
          else taken.set(seat, left)
        })
    )
})

/** The seats of the installation: those of this machine, or of all nodes together. */
export const streamSeats = Effect.flatMap(Nodes, ({ self }) =>
  self === null
    ? seatsHere
    : Effect.flatMap(
        Effect.promise(() => import("@reins/core/placement/cluster/StreamSeats")),
        ({ seatsOfNodes }) => seatsOfNodes
      )
)
