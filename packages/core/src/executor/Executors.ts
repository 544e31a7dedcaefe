import { Context, Effect, Layer } from "effect"
import type { ExecutorBackend } from "../domain/Catalog.js"
import { Placement } from "../placement/Placement.js"
import { type Executor, ExecutorError } from "./Executor.js"
import * as Local from "./Local.js"

/** The ways to run agents that this deployment has. */
export class Executors extends Context.Tag("@reins/core/executor/Executors")<
  Executors,
  {
    readonly list: ReadonlyArray<ExecutorBackend>
    /** Fails with `unavailable` for a backend that is not here. */
    readonly get: (backend: string) => Effect.Effect<Executor, ExecutorError>
  }
>() {
  static readonly layerOf = (executors: ReadonlyArray<Executor>) =>
    Layer.succeed(
      Executors,
      Executors.of({
        list: executors.map(({ backend, isolation }, index) => ({
          backend,
          available: true,
          default: index === 0,
          isolation: {
            security_boundary: isolation.level !== "none",
            filesystem: isolation.filesystem,
            network: isolation.network,
            processes: isolation.process_group ? "process_group" : "shared"
          },
          note: isolation.summary
        })),
        get: (backend) => {
          const executor = executors.find((candidate) => candidate.backend === backend)
          return executor === undefined
            ? Effect.fail(
                new ExecutorError({ kind: "unavailable", message: `There is no executor "${backend}" on this server.` })
              )
            : Effect.succeed(executor)
        }
      })
    )

  static readonly layer = Layer.unwrapEffect(
    Effect.map(
      Effect.flatMap(Placement, ({ bootId }) => Local.make(bootId)),
      (local) => Executors.layerOf([local])
    )
  )
}
