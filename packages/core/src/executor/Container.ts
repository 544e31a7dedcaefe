import { createHash } from "node:crypto"
import { mkdirSync, readFileSync, readlinkSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Option } from "effect"
import { type AgentLimits, defaultAgentLimits, lowered } from "../base/AgentLimits.js"
import { cutText } from "../base/CutText.js"
import { once } from "../base/Once.js"
import { hasProc, thisSystem } from "../base/ProcFs.js"
import { fn } from "../base/Traced.js"
import { environmentOf, inheritedInSandbox } from "./AgentEnvironment.js"
import { type Container, type ContainerFiles, containerArguments, refusedPath, userOf } from "./container/Arguments.js"
import * as Engine from "./container/Engine.js"
import { entry, preface, unnameable } from "./container/Entry.js"
import { profileHere } from "./container/SeccompProfile.js"
import { type AgentCommand, type Executor, ExecutorError, type Isolation } from "./Executor.js"
import { markLimit } from "./Marks.js"
import { findMarkedSince, inNamespaceSince } from "./ProcessTable.js"
import * as Supervision from "./Supervision.js"
import { nodeDirectory } from "./sandbox/Arguments.js"
import * as Bridge from "./sandbox/Bridge.js"
import * as DiskWatch from "./sandbox/DiskWatch.js"
import { enforced, inWords } from "./sandbox/Enforced.js"
import { because, exitInside } from "./sandbox/Exit.js"
import { isolationProofs } from "./sandbox/Proofs.js"

export { ContainerUnavailable } from "./container/Engine.js"

/** The way in which containers are run. */
export interface ContainerOptions {
  /** The image that agents run in, by its digest; null when none was chosen. */
  readonly image: string | null
  /** The engine; null is the first of Podman and Docker that is installed. */
  readonly engine: Engine.EngineName | null
  /** The directory for small files of ours that containers are given. */
  readonly cacheDir: string
  readonly limits?: AgentLimits
}

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

/** An image by a digest, which always means the same files. */
const byDigest = /^(?:[^\s@-][^\s@]*@)?sha256:[0-9a-f]{64}$/

/** Writes a file unless it is there already. Its name tells its text, so that servers of different releases share a directory. */
const kept = (directory: string, name: string, text: string): string => {
  const path = join(directory, `${createHash("sha256").update(text).digest("hex").slice(0, 16)}-${name}`)
  const making = `${path}.${process.pid}`
  writeFileSync(making, text, { mode: 0o644 })
  renameSync(making, path)
  return path
}

const ownFiles = (engine: Engine.ContainerEngine, cacheDir: string, seccomp: string): ContainerFiles => {
  const directory = join(cacheDir, "container")
  mkdirSync(directory, { recursive: true })
  const [uid, gid] = userOf(engine)
  const agent = uid === 0 ? "" : `agent:x:${uid}:${gid}:agent:/:/bin/sh\n`
  return {
    seccomp: kept(directory, "seccomp.json", seccomp),
    passwd: kept(directory, "passwd", `root:x:0:0:root:/:/bin/sh\n${agent}`),
    group: kept(directory, "group", `root:x:0:\n${gid === 0 ? "" : `agent:x:${gid}:\n`}`),
    hosts: kept(directory, "hosts", "127.0.0.1 localhost\n::1 localhost\n")
  }
}

/** The kernel that runs now, which another machine has not. */
const kernelFile = "/proc/sys/kernel/random/boot_id"

/** A program that shows the isolation from inside, the kernel, and the Node that agents run. */
const look = `cat /proc/self/status /proc/net/dev; cat ${kernelFile}; "$0" --version`

/** Starts a program in a container like that of agents, and looks at what it sees. */
const probe = Effect.fnUntraced(function* (engine: Engine.ContainerEngine, container: Container) {
  const words = [...containerArguments(engine, container), "-i", "/bin/sh", "-c", look, process.execPath]
  const said = yield* Engine.runEngine(engine.name, words)
  if (said.failed && said.stdout.trim() === "") return yield* Engine.unavailable(engine.name, said.stderr)
  const missing = isolationProofs(said.stdout)
  if (missing.length > 0)
    return yield* Engine.unavailable(engine.name, `its container starts, but it lacks ${missing.join(", ")}`)
  if (!said.stdout.includes(readFileSync(kernelFile, "utf8").trim()))
    return yield* Engine.unavailable(
      engine.name,
      "it runs containers on another machine, where agents cannot be watched"
    )
  if (!said.stdout.includes(process.version))
    return yield* new Engine.ContainerUnavailable({
      message:
        `The image cannot run the Node of the service: ${cutText(said.stderr.trim().split("\n")[0] ?? "", 200)}. ` +
        "Take one with glibc and libstdc++, as node:24-bookworm."
    })
})

const noRoot =
  "The executor container is for a service with a user of its own: as root, an agent would be root in its container. Run the service as " +
  "another user."

/** Everything that has to hold before an engine is asked, or the reason that it does not. */
const wanted = Effect.fnUntraced(function* (options: ContainerOptions) {
  const refuse = (message: string) => new Engine.ContainerUnavailable({ message })
  const seccomp = hasProc() ? profileHere() : undefined
  if (seccomp === undefined)
    return yield* refuse(`Containers work on Linux on x86_64 and arm64, and this is ${thisSystem()}.`)
  if (options.image === null)
    return yield* refuse(
      "The executor container needs an image: --container-image (REINS_CONTAINER_IMAGE) names one by its digest, as in " +
        "docker.io/library/node@sha256:..."
    )
  if (!byDigest.test(options.image))
    return yield* refuse(
      "The image is not named by a digest, so its files could change: name it as repository@sha256:<64 digits> or as sha256:<64 digits>."
    )
  if (process.getuid?.() === 0) return yield* refuse(noRoot)
  return { image: options.image, seccomp }
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
  yield* probe(engine, containerOf("probe", { readable: [], writable: [], directory: "/", socket: undefined }))

  const prepare = Effect.fnUntraced(function* (command: AgentCommand) {
    const { args, executable, homeDir, leaseId, programDirs, relayPorts, seenAt = command, workspaceDir } = command
    const bridge = relayPorts.length === 0 ? undefined : yield* Bridge.make(relayPorts)
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
