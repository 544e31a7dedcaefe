import { readlinkSync } from "node:fs"
import { type AgentLimits, defaultAgentLimits, lowered } from "@reins/base/base/AgentLimits"
import { once } from "@reins/base/base/Once"
import { fn } from "@reins/base/base/Traced"
import { Effect, Option } from "effect"
import { environmentOf, inheritedInSandbox } from "./AgentEnvironment.js"
import { type Container, containerArguments, refusedPath } from "./container/Arguments.js"
import * as Engine from "./container/Engine.js"
import { entry, preface, unnameable } from "./container/Entry.js"
import { ownFiles } from "./container/OwnFiles.js"
import { type ContainerOptions, probeContainer, wanted } from "./container/Probe.js"
import { type AgentCommand, type Executor, ExecutorError, type Isolation } from "./Executor.js"
import { markLimit } from "./Marks.js"
import { findMarkedSince, inNamespaceSince } from "./ProcessTable.js"
import * as Supervision from "./Supervision.js"
import { nodeDirectory } from "./sandbox/Arguments.js"
import * as Bridge from "./sandbox/Bridge.js"
import * as DiskWatch from "./sandbox/DiskWatch.js"
import { enforced, inWords } from "./sandbox/Enforced.js"
import { because, exitInside } from "./sandbox/Exit.js"

const enforcedBy = (engine: Engine.ContainerEngine, limits: AgentLimits) =>
  enforced(limits, {
    memory: engine.limits.memory ? engine.cgroup : null,
    processes: engine.limits.processes ? engine.cgroup : "rlimit",
    processors: engine.limits.processors ? engine.cgroup : null,
    openFiles: "rlimit",
    disk: "watch",
    temporary: "tmpfs"
  })

const isolationOf = (engine: Engine.ContainerEngine, image: string, limits: AgentLimits): Isolation => ({
  level: "sandbox",
  process_group: true,
  own_home: true,
  filesystem: "restricted",
  network: "restricted",
  engine: { name: engine.name, version: engine.version, image },
  limits: enforcedBy(engine, limits),
  summary:
    `A container of ${engine.name} for each agent: namespaces of its own, no capabilities, a filter on system calls. The agent writes its ` +
    "workspace and its home, reads its image and its own program, sees no other file of the machine, and reaches its model relay alone. " +
    `Ending the container ends all of its processes. ${inWords(enforcedBy(engine, limits))}`
})

/** The likely reason that the agent was killed in its container by somebody else than the service. The engine has forgotten the container. */
const killedInside = ({ limits }: Engine.ContainerEngine, { memoryBytes }: AgentLimits): string | undefined =>
  limits.memory
    ? `The agent was killed in its container, most likely because it needed more than the ${Math.round(memoryBytes / 1024 ** 2)} MiB of memory ` +
      "that it may have."
    : undefined

let started = 0

/** The search path of a container: that of the image, and the Node of the service. */
const pathOf = (image: Engine.Image): string => {
  const own = image.environment.find((entry) => entry.startsWith("PATH="))?.slice("PATH=".length)
  return [...new Set([...(own ?? "/usr/local/bin:/usr/bin:/bin").split(":"), nodeDirectory()])].join(":")
}

const environmentIn = (image: Engine.Image, command: AgentCommand, bootId: string): Record<string, string> => ({
  ...Object.fromEntries(
    image.environment.map((entry) => {
      const at = entry.indexOf("=")
      return [entry.slice(0, at), entry.slice(at + 1)]
    })
  ),
  ...environmentOf(command, bootId, inheritedInSandbox),
  PATH: pathOf(image)
})

/** The process namespace of a running container; none where the engine does not tell. */
const namespaceOf = (engine: Engine.EngineName, name: string): Effect.Effect<Option.Option<string>> =>
  Effect.map(Engine.runEngine(engine, ["inspect", "--format", "{{.State.Pid}}", name]), ({ stdout }) => {
    try {
      return Option.fromNullable(/pid:\[(\d+)\]/.exec(readlinkSync(`/proc/${Number(stdout)}/ns/pid`))?.[1])
    } catch {
      return Option.none()
    }
  })

/**
 * Runs each agent in a container of its own, by the command line of Podman or Docker, for a boot of the service. A program is started in such a
 * container first, and what it sees is the proof that it holds. Fails with the reason where it does not.
 */
export const make = fn("Container.make")(function* (bootId: string, options: ContainerOptions) {
  const { image: reference, seccomp } = yield* wanted(options)
  const limits = options.limits ?? defaultAgentLimits
  const engine = yield* Engine.findEngine(options.engine)
  const image = yield* Engine.imageOf(engine.name, reference)
  const files = yield* Effect.try({
    try: () => ownFiles(engine, options.cacheDir, seccomp),
    catch: () =>
      new Engine.ContainerUnavailable({
        message: `Nothing can be written in ${options.cacheDir}, which has to hold files for containers: give it to the service's user.`
      })
  })
  const marksOf = (leaseId: string) =>
    `${markLimit({ kind: "lease", id: leaseId })}:${markLimit({ kind: "boot", id: bootId })}`
  const containerOf = (
    leaseId: string,
    given: Pick<Container, "directory" | "readable" | "socket" | "writable">,
    own: AgentLimits = limits
  ) => ({
    name: `reins-${bootId.slice(-12)}-${++started}`,
    leaseId,
    bootId,
    image: reference,
    marks: marksOf(leaseId),
    files,
    limits: own,
    ...given
  })
  yield* probeContainer(engine, containerOf("probe", { readable: [], writable: [], directory: "/", socket: undefined }))

  const prepare = Effect.fnUntraced(function* (command: AgentCommand) {
    const { args, executable, homeDir, leaseId, programDirs, relayPorts, seenAt = command, workspaceDir } = command
    const bridge = relayPorts.length === 0 ? undefined : yield* Bridge.make(bootId, relayPorts)
    const own = lowered(limits, command.limits)
    const writable: Container["writable"] = [
      [homeDir, seenAt.homeDir],
      [workspaceDir, seenAt.workspaceDir]
    ]
    const container: Container = containerOf(
      leaseId,
      { readable: programDirs, writable, directory: seenAt.workspaceDir, socket: bridge?.socket },
      own
    )
    const environment = environmentIn(image, command, bootId)
    const problem = refusedPath(container) ?? unnamed(environment)
    if (problem !== undefined) return yield* problem
    const namespace = yield* once(namespaceOf(engine.name, container.name))
    let killed = false
    // A client that is killed leaves the container to the engine, which may not have started it yet.
    yield* Effect.addFinalizer(() =>
      killed ? Engine.runEngine(engine.name, ["rm", "--force", container.name]) : Effect.void
    )
    const launch: Supervision.Launch = {
      command: [engine.name, ...containerArguments(engine, container), ...entry(relayPorts, [executable, ...args])],
      environment: Engine.engineEnvironment(),
      preface: preface(environment),
      family: async (since) => {
        const inside = await Effect.runPromise(namespace)
        // Without the word of the engine, the marks are what tells the processes of a container.
        return Option.isNone(inside)
          ? findMarkedSince({ kind: "lease", id: leaseId }, since)
          : inNamespaceSince(inside.value, since)
      },
      exitOf: (exit) => {
        killed = exit.signal !== null
        const inside = exitInside(exit)
        return because(inside, !killed && inside.signal === "SIGKILL" ? killedInside(engine, own) : undefined)
      },
      ...(bridge !== undefined && { ready: bridge.open }),
      watch: DiskWatch.until([workspaceDir, homeDir], own.diskBytes)
    }
    return launch
  })

  const executor: Executor = {
    backend: "container",
    ownPaths: true,
    isolation: isolationOf(engine, reference, limits),
    spawn: fn("Executor.spawn")(Supervision.spawning(prepare)),
    reap: (leaseId) => Effect.tap(Supervision.reap(leaseId), () => Engine.removeOf(engine.name, [leaseId])),
    sweep: (bootIds) => Engine.removeOf(engine.name, bootIds),
    sweepCommand: Engine.removalOf(engine.name, bootId)
  }
  return executor
})

const unnamed = (environment: Readonly<Record<string, string>>): ExecutorError | undefined => {
  const names = unnameable(environment)
  return names.length === 0
    ? undefined
    : new ExecutorError({
        kind: "spawn_failed",
        message: `A container cannot be given the variables ${names.join(", ")}, because their names are not those of a shell.`
      })
}
