import { Context, Effect, Layer } from "effect"
import type { ExecutorBackend } from "../domain/Catalog.js"
import type { NetworkAccess } from "../domain/NetworkAccess.js"
import { ReinsError } from "../domain/ReinsError.js"
import { Placement } from "../placement/Placement.js"
import { type Executor, ExecutorError } from "./Executor.js"
import * as Local from "./Local.js"

// The port of an executor, for programs that bring one of their own.
export {
  type AgentCommand,
  type AgentExit,
  type AgentProcess,
  type Executor,
  ExecutorError,
  type Isolation,
  type ReapedProcess,
  type StopHooks
} from "./Executor.js"
export type { StopPolicy } from "./StopPolicy.js"

/** The ways to run agents that this installation has. */
export class Executors extends Context.Tag("@reins/core/executor/Executors")<
  Executors,
  {
    /** The executors in the order of the catalog. The first one is the default. */
    readonly list: ReadonlyArray<ExecutorBackend>
    /**
     * The backend of a session: the given one, or the default. Fails with `executor_unavailable` for a backend that is not installed, and for one
     * that does not enforce the network which a project asks for.
     */
    readonly choose: (
      backend: string | undefined,
      network?: NetworkAccess
    ) => Effect.Effect<string, ReinsError<"executor_unavailable">>
    /** The executor of a backend, to run agents with. Fails with an `ExecutorError` of the kind `unavailable` for one that is not installed. */
    readonly get: (backend: string) => Effect.Effect<Executor, ExecutorError>
  }
>() {
  /** Only the given executors. The first one is the default, for sessions that name none. Each needs a `backend` of its own. */
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
        choose: Effect.fnUntraced(function* (backend = executors[0]?.backend ?? "default", network = "open") {
          const { isolation } = yield* Effect.mapError(get(backend), ({ message }) => unusable(backend, message))
          if (network !== "open" && isolation.network !== "restricted")
            return yield* unusable(backend, notEnforced(backend))
          return backend
        })
      })
    })

  /**
   * The executor `local`, which runs agents as processes of this machine and of the service's user. An executor of one's own may stand
   * beside it in the list, or start its agents through it.
   */
  static readonly local: Effect.Effect<Executor, never, Placement> = Effect.flatMap(Placement, ({ bootId }) =>
    Local.make(bootId)
  )

  /** The executors that are part of Reins: `local` alone. */
  static readonly layer = Layer.unwrapEffect(Effect.map(Executors.local, (local) => Executors.layerOf([local])))
}

const unusable = (backend: string, message: string) =>
  new ReinsError({ code: "executor_unavailable", message, details: { backend } })

const notEnforced = (backend: string): string =>
  `The project limits the network of its agents, and the executor "${backend}" does not enforce that: choose one whose isolation.network is ` +
  'restricted, or publish a version with the network "open".'
