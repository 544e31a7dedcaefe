import { type AgentLimits, defaultAgentLimits, lowered } from "@reins/base/base/AgentLimits"
import { hasProc, thisSystem } from "@reins/base/base/ProcFs"
import { fn } from "@reins/base/base/Traced"
import { Effect, Option } from "effect"
import { environmentOf, inheritedInSandbox } from "./AgentEnvironment.js"
import type { EnforcedLimits } from "./EnforcedLimits.js"
import type { AgentCommand, Executor, Isolation } from "./Executor.js"
import { limitedBy } from "./Marks.js"
import { inNamespaceSince } from "./ProcessTable.js"
import * as Supervision from "./Supervision.js"
import { givenTo, groupIn, namespaceIn, nodeDirectory, sandboxArguments } from "./sandbox/Arguments.js"
import * as Bridge from "./sandbox/Bridge.js"
import * as Cgroups from "./sandbox/Cgroups.js"
import * as DiskWatch from "./sandbox/DiskWatch.js"
import { enforced, inWords } from "./sandbox/Enforced.js"
import { because, exitInside } from "./sandbox/Exit.js"
import { hardLimit } from "./sandbox/HardLimit.js"
import { inside } from "./sandbox/Inside.js"
import { BubblewrapUnavailable, probeSandbox, version } from "./sandbox/Probe.js"
import { filterHere } from "./sandbox/Seccomp.js"

const enforcedBy = (limits: AgentLimits, byCgroup: boolean, perProcess: boolean) =>
  enforced(limits, {
    memory: byCgroup ? "cgroup_v2" : null,
    // The number of processes of root is limited by nothing else.
    processes: byCgroup ? "cgroup_v2" : perProcess && process.getuid?.() !== 0 ? "rlimit" : null,
    processors: byCgroup ? "cgroup_v2" : null,
    openFiles: perProcess ? "rlimit" : null,
    disk: "watch",
    temporary: "tmpfs"
  })

const isolationOf = (version: string | null, limits: EnforcedLimits): Isolation => ({
  level: "sandbox",
  process_group: true,
  own_home: true,
  filesystem: "restricted",
  network: "restricted",
  engine: { name: "bubblewrap", version, image: null },
  limits,
  summary:
    "A sandbox of bubblewrap: user, process, network, IPC and host namespaces of its own, no capabilities, a filter on system calls. The agent " +
    "writes its workspace and its home, reads /usr and its own program, sees no other file of the machine, and reaches its model relay alone. " +
    `Ending the sandbox ends all of its processes. ${inWords(limits)}`
})

/** A shell that moves itself into a cgroup and becomes the command. */
const within = (processes: string, command: ReadonlyArray<string>): ReadonlyArray<string> => [
  "/bin/sh",
  "-c",
  'echo $$ >"$0" && exec "$@"',
  processes,
  ...command
]

/** The filter of this machine, or the reason that there is none. */
const filter = Effect.suspend(() => {
  const bytes = hasProc() ? filterHere() : undefined
  return bytes === undefined
    ? Effect.fail(
        new BubblewrapUnavailable({
          message: `bubblewrap works on Linux on x86_64 and arm64, and this is ${thisSystem()}.`
        })
      )
    : Effect.succeed(bytes)
})

/**
 * Runs agents in sandboxes of bubblewrap, for a boot of the service. A program is started in such a sandbox first, and what it sees is the
 * proof that it holds. Fails with the reason where it does not.
 */
export const make = fn("Bubblewrap.make")(function* (
  bootId: string,
  limits: AgentLimits = defaultAgentLimits,
  cgroups: Cgroups.Cgroups | undefined = Cgroups.delegated()
) {
  const bytes = yield* filter
  // One process proves both, the sandbox and the limits, and a second one is needed only where `prlimit` is missing.
  const marked = limitedBy(bootId)
  const perProcess = yield* Effect.as(probeSandbox(bytes, marked("probe", [])), true).pipe(
    Effect.orElse(() => Effect.as(probeSandbox(bytes, []), false))
  )
  const rlimitsOf = ({ diskBytes, openFiles, processes }: AgentLimits) => [
    ...["prlimit", `--nofile=${Math.min(openFiles, hardLimit("Max open files"))}`, "--core=0", `--fsize=${diskBytes}`],
    ...(cgroups === undefined ? [`--nproc=${processes}`] : [])
  ]
  const path = [...new Set(["/usr/local/bin", "/usr/bin", "/bin", nodeDirectory()])].join(":")

  const prepare = Effect.fnUntraced(function* (command: AgentCommand) {
    const { homeDir, leaseId, programDirs, relayPorts, seenAt = command, workspaceDir } = command
    const bridge = relayPorts.length === 0 ? undefined : yield* Bridge.make(bootId, relayPorts)
    const own = lowered(limits, command.limits)
    const cgroup = cgroups === undefined ? undefined : yield* cgroups.make(own)
    const contents = sandboxArguments({
      readable: programDirs,
      writable: [
        [homeDir, seenAt.homeDir],
        [workspaceDir, seenAt.workspaceDir]
      ],
      directory: seenAt.workspaceDir,
      socket: bridge?.socket,
      temporaryBytes: own.temporaryBytes
    })
    const sandboxed = ["bwrap", ...contents, ...inside(command, perProcess ? rlimitsOf(own) : [])]
    const words = perProcess ? marked(leaseId, sandboxed) : sandboxed
    let told = ""
    const launch: Supervision.Launch = {
      command: cgroup === undefined ? words : within(cgroup.processes, words),
      environment: { ...environmentOf(command, bootId, inheritedInSandbox), PATH: path },
      given: givenTo(bytes),
      told: (text) => {
        told += text
      },
      politeGroup: () => groupIn(told),
      // A process inside can lose its marks on purpose, and never its namespace.
      family: (since) => Option.getOrUndefined(Option.map(namespaceIn(told), (own) => inNamespaceSince(own, since))),
      exitOf: (exit) => because(exitInside(exit), exit.code === 0 ? undefined : cgroup?.reason()),
      ...(bridge !== undefined && { ready: bridge.open }),
      watch: DiskWatch.until([workspaceDir, homeDir], own.diskBytes)
    }
    return launch
  })

  const executor: Executor = {
    backend: "bubblewrap",
    ownPaths: true,
    isolation: isolationOf(yield* version, enforcedBy(limits, cgroups !== undefined, perProcess)),
    spawn: fn("Executor.spawn")(Supervision.spawning(prepare)),
    reap: Supervision.reap
  }
  return executor
})
