import { execFile, spawn } from "node:child_process"
import { promisify } from "node:util"
import { Data, Effect, Option } from "effect"
import { type AgentLimits, defaultAgentLimits, lowered } from "../base/AgentLimits.js"
import { cutText } from "../base/CutText.js"
import { hasProc, thisSystem } from "../base/ProcFs.js"
import { fn } from "../base/Traced.js"
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
import { isolationProofs } from "./sandbox/Proofs.js"
import { filterHere } from "./sandbox/Seccomp.js"

/** The sandbox does not work on this machine. The message says why, and what can be done. */
export class BubblewrapUnavailable extends Data.TaggedError("BubblewrapUnavailable")<{ readonly message: string }> {}

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

/** The words of the shell in the sandbox: starts the bridge, where there are ports, and becomes the agent. The bridge belongs to init. */
const withBridge = '(exec env -i "$1" -e "$2" $3 </dev/null >/dev/null 2>&1 &) && shift 3 && exec "$@"'

/** The agent's command inside of the sandbox. */
const inside = (
  { args, executable, relayPorts }: Pick<AgentCommand, "args" | "executable" | "relayPorts">,
  rlimits: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const agent = [...rlimits, executable, ...args]
  return relayPorts.length === 0
    ? agent
    : ["/bin/sh", "-c", withBridge, "sh", process.execPath, Bridge.program, relayPorts.join(" "), ...agent]
}

/** A shell that moves itself into a cgroup and becomes the command. */
const within = (processes: string, command: ReadonlyArray<string>): ReadonlyArray<string> => [
  "/bin/sh",
  "-c",
  'echo $$ >"$0" && exec "$@"',
  processes,
  ...command
]

/** The advice for the words with which bubblewrap fails. */
const advice: ReadonlyArray<readonly [RegExp, string]> = [
  [/ENOENT/, "it is not installed; on Debian and Ubuntu: apt-get install bubblewrap"],
  [/Unknown option/, "its version is too old; it has to be 0.8 or newer"],
  [
    /uid map|new namespace|CLONE_NEWUSER|Operation not permitted|Permission denied/i,
    "this machine allows no user namespaces to the service's user; in a container that is its seccomp profile, on Ubuntu 24.04 an AppArmor " +
      "profile for bwrap is needed, and elsewhere see the sysctl user.max_user_namespaces"
  ]
]

const unavailable = (said: string): BubblewrapUnavailable => {
  const known = advice.find(([words]) => words.test(said))?.[1]
  const quoted = cutText(said.trim().split("\n")[0] ?? "", 200)
  return new BubblewrapUnavailable({
    message: `bubblewrap does not work here: ${known ?? quoted}${known === undefined || known.startsWith("it is not") ? "" : ` (${quoted})`}.`
  })
}

/** A machine that is busy or emulated takes seconds, and a probe that is broken off is taken for one that fails. */
const probeMs = 60_000

/** The output of a program in a sandbox like that of agents. Fails with what bubblewrap says when it does not start. */
const look = (filter: Uint8Array, launcher: ReadonlyArray<string>): Promise<string> =>
  new Promise((resolve, reject) => {
    const nothing = { readable: [], writable: [], directory: "/", socket: undefined, temporaryBytes: 4096 }
    const given = givenTo(filter)
    const seeing = ["cat", "/proc/self/status", "/proc/net/dev"]
    const [program = "", ...args] = [...launcher, "bwrap", ...sandboxArguments(nothing), ...seeing]
    const child = spawn(program, args, {
      env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
      stdio: ["ignore", "pipe", "pipe", ...given.map(() => "pipe" as const), "pipe"],
      // The timer of `timeout` keeps the process for a minute where there is no such program.
      signal: AbortSignal.timeout(probeMs),
      killSignal: "SIGKILL"
    })
    let seen = ""
    let said = ""
    child.stdout?.on("data", (chunk) => {
      seen += String(chunk)
    })
    child.stderr?.on("data", (chunk) => {
      said += String(chunk)
    })
    for (const [index, bytes] of given.entries()) Supervision.give(child.stdio[3 + index], bytes)
    child.once("error", reject)
    // Its words may come after its exit, and something that it leaves may keep its pipes open.
    child.once("close", (code) => (code === 0 ? resolve(seen) : reject(new Error(said))))
    child.once("exit", (code) => code !== 0 && setTimeout(() => reject(new Error(said)), 100))
  })

/** Starts a program in a sandbox by the words of a launcher, and looks at what it sees. */
const probe = (filter: Uint8Array, launcher: ReadonlyArray<string>): Effect.Effect<void, BubblewrapUnavailable> =>
  Effect.tryPromise({
    try: async () => {
      const seen = await look(filter, launcher)
      const missing = isolationProofs(seen)
      if (missing.length > 0) throw new Error(`it starts, but it lacks ${missing.join(", ")}`)
    },
    catch: (error) => unavailable(error instanceof Error ? error.message : String(error))
  })

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

const version = Effect.promise(() =>
  promisify(execFile)("bwrap", ["--version"]).then(
    ({ stdout }) => stdout.trim().replace("bubblewrap ", ""),
    () => null
  )
)

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
  const perProcess = yield* Effect.as(probe(bytes, marked("probe", [])), true).pipe(
    Effect.orElse(() => Effect.as(probe(bytes, []), false))
  )
  const rlimitsOf = ({ diskBytes, openFiles, processes }: AgentLimits) => [
    ...["prlimit", `--nofile=${Math.min(openFiles, hardLimit("Max open files"))}`, "--core=0", `--fsize=${diskBytes}`],
    ...(cgroups === undefined ? [`--nproc=${processes}`] : [])
  ]
  const path = [...new Set(["/usr/local/bin", "/usr/bin", "/bin", nodeDirectory()])].join(":")

  const prepare = Effect.fnUntraced(function* (command: AgentCommand) {
    const { homeDir, leaseId, programDirs, relayPorts, seenAt = command, workspaceDir } = command
    const bridge = relayPorts.length === 0 ? undefined : yield* Bridge.make(relayPorts)
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
