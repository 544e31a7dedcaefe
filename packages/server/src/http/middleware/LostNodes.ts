import { type Located, Nodes } from "@reins/core/placement/Nodes"
import * as Loop from "@reins/core/store/Loop"
import { Effect } from "effect"

/** The time between two looks for the nodes that somebody waits for, in milliseconds. */
const lookEveryMs = 1000

interface Waiting {
  readonly node: string
  readonly bootId: string
  readonly lost: () => void
}

/**
 * Calls back when a process of a node is lost while somebody waits for its answer. A connection that is kept says nothing of a node that was cut
 * off, for many minutes. One look serves all who wait, and the function that is given back ends the wait.
 */
export const lostNodes = Effect.gen(function* () {
  const nodes = yield* Nodes
  const waiting = new Set<Waiting>()
  const isThere = (found: Located, bootId: string) => found.kind === "at" && found.bootId === bootId
  const round = Effect.suspend(() =>
    Effect.forEach(
      new Set([...waiting].map(({ node }) => node)),
      (node) =>
        Effect.map(nodes.locate(node), (found) => {
          for (const each of waiting) if (each.node === node && !isThere(found, each.bootId)) each.lost()
        }),
      { discard: true }
    )
  )
  yield* Loop.start({ failure: "nodes that are asked cannot be looked for", everyMs: lookEveryMs, round })
  return (each: Waiting) => {
    waiting.add(each)
    return () => waiting.delete(each)
  }
})
