import { Effect, Layer } from "effect"
import { Bench } from "./Bench.js"
import { treesHere } from "./TreesHere.js"

/** The bench of this process: the files, the git directories and the agents of this machine. */
export const layer = Layer.effect(
  Bench,
  Effect.gen(function* () {
    return Bench.of({ trees: yield* treesHere })
  })
)
