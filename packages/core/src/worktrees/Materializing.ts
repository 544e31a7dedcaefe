import { Bench } from "@reins/machine/bench/Bench"
import { Effect } from "effect"
import { Projects } from "../projects/Projects.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { makeGitSettling } from "./GitSettling.js"
import { Leases } from "./Leases.js"
import { makeListeners } from "./TreeEars.js"
import { orderOf, setupOrders } from "./TreeOrders.js"

/** Puts the files of a new workspace on disk, and tells of its setup. Gives back the base. */
export const makeFiles = Effect.gen(function* () {
  const { trees } = yield* Bench
  const projects = yield* Projects
  const leases = yield* Leases
  const earOf = yield* makeListeners
  const setupOf = yield* setupOrders
  const withConnection = yield* makeGitSettling

  return Effect.fnUntraced(function* (row: SessionRow, beside: Effect.Effect<void>) {
    const setup = yield* setupOf(row, yield* projects.specOf(row))
    return yield* withConnection(row, (settled) =>
      trees.make(orderOf(settled, setup), { ...earOf(settled), beside, clear: leases.reap(settled) })
    )
  })
})
