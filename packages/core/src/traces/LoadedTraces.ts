import { AgentTraces } from "@reins/base/base/AgentTraces"
import { Effect, Layer } from "effect"

// Nothing of the traces is loaded where the operator has not asked for them.

/** Tells of each turn that ends. */
export const tracedTurns = Layer.unwrapEffect(
  Effect.flatMap(AgentTraces, (traces) =>
    traces === undefined
      ? Effect.succeed(Layer.empty)
      : Effect.map(
          Effect.promise(() => import("./TracedTurns.js")),
          ({ layerOf }) => layerOf(traces)
        )
  )
)

/** Gives the function that begins the traces of a run of an agent; undefined where none are made. */
export const runTraces = Effect.flatMap(AgentTraces, (traces) =>
  traces === undefined
    ? Effect.succeed(undefined)
    : Effect.flatMap(
        Effect.promise(() => import("./RunTraces.js")),
        ({ makeRunTraces }) => makeRunTraces(traces)
      )
)
