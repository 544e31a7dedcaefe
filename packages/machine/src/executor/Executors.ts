import { Boot } from "@reins/base/base/Boot"
import { type BuiltInExecutor, builtInExecutors, CoreConfig } from "@reins/base/base/CoreConfig"
import { type ExecutorLimits, resourceLimits } from "@reins/base/domain/ExecutorLimits"
import type { NetworkAccess } from "@reins/base/domain/NetworkAccess"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Either, Fiber, Layer } from "effect"
import type { ContainerUnavailable } from "./container/Engine.js"
import { lowerable, noLimits } from "./EnforcedLimits.js"
import { type Executor, ExecutorError, type Isolation, type SweepCommand } from "./Executor.js"
import type { ExecutorBackend } from "./ExecutorBackend.js"
import * as Local from "./Local.js"
import type { BubblewrapUnavailable } from "./sandbox/Probe.js"

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

/** A way to run agents that is known here and cannot be used. */
interface Absent {
  readonly backend: string
  /** Says why, and what can be done. */
  readonly reason: string
}

/** The bounds of a session that its executor has to enforce. */
export interface Bounds {
  /** The networks of agents and of setup steps. */
  readonly networks?: ReadonlyArray<NetworkAccess>
  /** The most that an agent may take; nothing but what the executor gives to all of them when absent. */
  readonly limits?: ExecutorLimits
}

/** The ways to run agents, as they were found. */
interface Found {
  /** Those that can be used, the default first. */
  readonly usable: ReadonlyArray<Executor>
  readonly absent: ReadonlyArray<Absent>
}

/** The ways to run agents that this installation has. */
export class Executors extends Context.Tag("@reins/core/executor/Executors")<
  Executors,
  {
    /** The names of all executors in the order of the catalog, also of those that cannot be used. */
    readonly names: ReadonlyArray<string>
    /** The executors in the order of the catalog. One that cannot be used says why. */
    readonly list: Effect.Effect<ReadonlyArray<ExecutorBackend>>
    /**
     * The backend of a session: the given one, or the default. Fails with `executor_unavailable` for a backend that cannot be used, and for one
     * that does not enforce what the session asks for.
     */
    readonly choose: (
      backend: string | undefined,
      bounds?: Bounds
    ) => Effect.Effect<string, ReinsError<"executor_unavailable">>
    /** The executor of a backend, to run agents with. Fails with an `ExecutorError` of the kind `unavailable` for one that cannot be used. */
    readonly get: (backend: string) => Effect.Effect<Executor, ExecutorError>
    /** Removes what ended boots of the service have left with services of the machine, by every executor that can be used. */
    readonly sweep: (bootIds: ReadonlyArray<string>) => Effect.Effect<void>
    /** The commands that remove the same for this boot. */
    readonly sweepCommands: Effect.Effect<ReadonlyArray<SweepCommand>>
  }
>() {
  /** Only the given executors. The first one is the default, for sessions that name none. Each needs a `backend` of its own. */
  static readonly layerOf = (executors: ReadonlyArray<Executor>) =>
    Layer.succeed(
      Executors,
      service(
        executors.map(({ backend }) => backend),
        Effect.succeed({ usable: executors, absent: [] })
      )
    )

  /**
   * The executor `local`, which runs agents as processes of this machine and of the service's user. An executor of one's own may stand
   * beside it in the list, or start its agents through it.
   */
  static readonly local: Effect.Effect<Executor, never, Boot> = Effect.flatMap(Boot, ({ bootId }) => Local.make(bootId))

  /**
   * The executor `bubblewrap`, which runs each agent in a sandbox of its own. It is tried first, and fails with the reason where it does not
   * hold.
   */
  static readonly bubblewrap: Effect.Effect<Executor, BubblewrapUnavailable, CoreConfig | Boot> = Effect.gen(
    function* () {
      const { agentLimits } = yield* CoreConfig
      const Bubblewrap = yield* Effect.promise(() => import("./Bubblewrap.js"))
      return yield* Bubblewrap.make((yield* Boot).bootId, agentLimits)
    }
  )

  /**
   * The executor `container`, which runs each agent in a container of Podman or Docker. It is tried first, and fails with the reason where it
   * does not hold.
   */
  static readonly container: Effect.Effect<Executor, ContainerUnavailable, CoreConfig | Boot> = Effect.gen(
    function* () {
      const { agentLimits, cacheDir, containerEngine, containerImage } = yield* CoreConfig
      const { bootId } = yield* Boot
      const options = { image: containerImage, engine: containerEngine, cacheDir, limits: agentLimits }
      const Container = yield* Effect.promise(() => import("./Container.js"))
      return yield* Container.make(bootId, options)
    }
  )

  /**
   * The executors that are part of Reins, as `CoreConfig.executors` chooses them. They are tried beside the rest of the start, and whoever asks
   * for one waits for that.
   */
  static readonly layer = Layer.scoped(
    Executors,
    Effect.gen(function* () {
      const config = yield* CoreConfig
      const boot = yield* Boot
      const trying = yield* Effect.forkScoped(
        find(config.executors).pipe(Effect.provideService(Boot, boot), Effect.provideService(CoreConfig, config))
      )
      // A join would copy the context of that fiber to each that asks.
      return service(builtInExecutors, Effect.flatten(Fiber.await(trying)))
    })
  )
}

/** The service over what is found. `names` is the order of the catalog. */
const service = (names: ReadonlyArray<string>, found: Effect.Effect<Found>): Executors["Type"] => {
  const unusable = (backend: string, { absent }: Found) =>
    absent.find((each) => each.backend === backend)?.reason ?? `There is no executor "${backend}" on this server.`
  const pick = (backend: string, all: Found): Either.Either<Executor, ExecutorError> =>
    Either.fromNullable(
      all.usable.find((candidate) => candidate.backend === backend),
      () => new ExecutorError({ kind: "unavailable", message: unusable(backend, all) })
    )
  return {
    names,
    get: (backend) => Effect.flatMap(found, (all) => pick(backend, all)),
    list: Effect.map(found, (all) => names.map((name) => described(name, all, unusable(name, all)))),
    choose: Effect.fnUntraced(function* (given, bounds = {}) {
      const all = yield* found
      const backend = given ?? all.usable[0]?.backend ?? names[0] ?? "default"
      const executor = yield* Either.mapLeft(pick(backend, all), ({ message }) => refusal(backend, message))
      const unmet = notEnforced(executor, bounds)
      return unmet === undefined ? backend : yield* refusal(backend, unmet)
    }),
    sweep: (bootIds) =>
      Effect.flatMap(found, ({ usable }) =>
        Effect.forEach(usable, ({ sweep }) => swept(sweep, bootIds), { discard: true })
      ),
    sweepCommands: Effect.map(found, ({ usable }) =>
      usable.flatMap(({ sweepCommand }) => (sweepCommand === undefined ? [] : [sweepCommand]))
    )
  }
}

const swept = Effect.fnUntraced(function* (sweep: Executor["sweep"], bootIds: ReadonlyArray<string>) {
  const removed = sweep === undefined || bootIds.length === 0 ? 0 : yield* sweep(bootIds)
  if (removed > 0)
    yield* Effect.logWarning("removed containers that a process of the service had left", { containers: removed })
})

const refusal = (backend: string, message: string) =>
  new ReinsError({ code: "executor_unavailable", message, details: { backend } })

/** Says what the executor does not enforce of the bounds; undefined where it enforces them all. */
const notEnforced = ({ backend, isolation }: Executor, { limits = {}, networks = [] }: Bounds) => {
  if (isolation.network !== "restricted" && networks.some((network) => network !== "open"))
    return (
      `The project limits the network of its agents or of its setup, and the executor "${backend}" does not enforce that: choose one whose ` +
      'isolation.network is restricted, or publish a version with the network "open".'
    )
  const enforces = lowerable(isolation.limits ?? noLimits)
  const missing = resourceLimits.filter((name) => limits[name] !== undefined && !enforces.includes(name))
  if (missing.length === 0) return undefined
  return (
    `The executor "${backend}" cannot enforce ${missing.join(" and ")} on this server` +
    `${enforces.length === 0 ? "" : `, only ${enforces.join(", ")}`}: choose another executor, or leave the limit out. ` +
    "Memory, processes and processors need a cgroup v2 that is delegated to the service."
  )
}

/** The entry of the catalog. An executor that cannot be used promises nothing. */
const described = (backend: string, { usable }: Found, reason: string): ExecutorBackend => {
  const executor = usable.find((candidate) => candidate.backend === backend)
  const isolation: Pick<Isolation, "filesystem" | "level" | "network" | "process_group"> = executor?.isolation ?? {
    level: "none",
    filesystem: "shared",
    network: "shared",
    process_group: false
  }
  return {
    backend,
    available: executor !== undefined,
    default: executor !== undefined && executor === usable[0],
    isolation: {
      security_boundary: isolation.level !== "none",
      filesystem: isolation.filesystem,
      network: isolation.network,
      processes: isolation.level === "sandbox" ? "own" : isolation.process_group ? "process_group" : "shared"
    },
    engine: executor?.isolation.engine ?? null,
    limits: executor?.isolation.limits ?? noLimits,
    note: executor?.isolation.summary ?? reason
  }
}

type Making = Effect.Effect<Executor, { readonly message: string }, CoreConfig | Boot>

const making: Readonly<Record<BuiltInExecutor, Making>> = {
  bubblewrap: Executors.bubblewrap,
  container: Executors.container,
  local: Executors.local
}

/** The executors that are tried where nothing is chosen. A container needs an image, which somebody has to choose. */
const unchosen: ReadonlyArray<BuiltInExecutor> = ["bubblewrap", "local"]

/** Tries the executors that are wanted. */
const find = Effect.fnUntraced(function* (wanted: ReadonlyArray<BuiltInExecutor> | null) {
  const tried = yield* Effect.forEach(
    wanted ?? unchosen,
    (backend) => Effect.map(Effect.either(making[backend]), (made) => ({ backend, made })),
    { concurrency: "unbounded" }
  )
  const working = tried.flatMap(({ made }) => (Either.isRight(made) ? [made.right] : []))
  // Where the sandbox works and nobody asked for anything else, no session gets out of it by naming `local`.
  const usable = wanted === null ? working.slice(0, 1) : working
  const reasonOf = (backend: BuiltInExecutor): string => {
    const made = tried.find((each) => each.backend === backend)?.made
    return made !== undefined && Either.isLeft(made)
      ? made.left.message
      : `This server does not run agents on ${backend}. Its operator can allow that with --executor.`
  }
  const absent = builtInExecutors
    .filter((backend) => !usable.some((executor) => executor.backend === backend))
    .map((backend) => ({ backend, reason: reasonOf(backend) }))
  const found: Found = { usable, absent }
  return found
})
