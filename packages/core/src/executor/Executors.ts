import { Context, Effect, Layer } from "effect"
import type { ExecutorBackend } from "../domain/Catalog.js"
import { ReinsError } from "../domain/ReinsError.js"
import { Placement } from "../placement/Placement.js"
import { type Executor, ExecutorError } from "./Executor.js"
import * as Local from "./Local.js"

/** The ways to run agents that this installation has. */
export class Executors extends Context.Tag("@reins/core/executor/Executors")<
  Executors,
  {
    /** The executors in the order of the catalog. The first one is the default. */
    readonly list: ReadonlyArray<ExecutorBackend>
    /** The backend of a session: the given one, or the default. Fails with `executor_unavailable` for a backend that is not installed. */
    readonly choose: (backend: string | undefined) => Effect.Effect<string, ReinsError<"executor_unavailable">>
    /** The executor of a backend. Fails with `unavailable` for a backend that is not installed. */
    readonly get: (backend: string) => Effect.Effect<Executor, ExecutorError>
  }
>() {
  /** Only the given executors. The first one is the default. */
  static readonly layerOf = (executors: ReadonlyArray<Executor>) =>
    Layer.sync(Executors, () => {
      const get = (backend: string): Effect.Effect<Executor, ExecutorError> => {
        const executor = executors.find((candidate) => candidate.backend === backend)
        return executor === undefined
          ? Effect.fail(
              new ExecutorError({ kind: "unavailable", message: `There is no executor "${backend}" on this server.` })
            )
          : Effect.succeed(executor)
      }
      return Executors.of({
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
        get,
        choose: (backend = executors[0]?.backend ?? "default") =>
          Effect.mapBoth(get(backend), {
            onFailure: ({ message }) => new ReinsError({ code: "executor_unavailable", message, details: { backend } }),
            onSuccess: () => backend
          })
      })
    })

  /** The executors that are part of Reins. */
  static readonly layer = Layer.unwrapEffect(
    Effect.map(
      Effect.flatMap(Placement, ({ bootId }) => Local.make(bootId)),
      (local) => Executors.layerOf([local])
    )
  )
}
