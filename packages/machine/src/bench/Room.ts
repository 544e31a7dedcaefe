import { Effect, Layer, Option } from "effect"
import { Bench } from "./Bench.js"
import * as BenchHere from "./BenchHere.js"

/** The machine of the sessions: the one that a program gives, or else this process. */
export const bench = {
  name: "bench",
  layer: Layer.unwrapEffect(
    Effect.map(
      Effect.serviceOption(Bench),
      Option.match({ onNone: () => BenchHere.layer, onSome: (given) => Layer.succeed(Bench, given) })
    )
  )
} as const
