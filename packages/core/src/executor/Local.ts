import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { constants } from "node:fs"
import { access, mkdir } from "node:fs/promises"
import { Deferred, Effect, Exit, Mailbox, Redacted } from "effect"
import { fn } from "../base/Traced.js"
import {
  type AgentCommand,
  type AgentExit,
  type AgentProcess,
  type Executor,
  ExecutorError,
  type Isolation,
  type ReapedProcess,
  type StopHooks
} from "./Executor.js"
import * as LineReader from "./LineReader.js"
import { type Limit, limitsOf, markVariables } from "./Marks.js"
import { bearingSince, end, groupAlive, isBorne, signal, startOf } from "./ProcessTable.js"
import type { StopPolicy } from "./StopPolicy.js"

/**
 * Every process of an agent bears the marks of its lease and of this boot. It inherits them in its environment and, where the machine allows
 * that, in a resource limit. Either mark is enough to find it, so a daemon in a session of its own that has cleared its environment is ended
 * too. Three things escape: a process that changes the limit on purpose, a process that clears its environment on a machine without the limit,
 * and work that is handed to a service of the machine (cron, systemd, a container engine), which was never a child.
 */
const isolationOf = (limited: boolean): Isolation => ({
  level: "none",
  process_group: true,
  own_home: true,
  filesystem: "shared",
  network: "shared",
  summary:
    "A process group with its own HOME and a short list of variables; no security boundary: the agent can do what the service's user can. " +
    (limited
      ? "Its processes are ended with it, also those that detach themselves and clear their environment."
      : "Its processes are ended with it, also those that detach themselves; without prlimit on Linux, not those that clear their environment.")
})

const maxLineBytes = 32 * 1024 * 1024
const stderrTailBytes = 16 * 1024
const stderrLineLength = 8 * 1024
/** The time to wait after SIGKILL. Only a process that hangs in the kernel survives it for long. */
const killRounds = 4
const pollInterval = "25 millis"

/**
 * The variables that an agent inherits: search path, language, time zone and certificate authorities. The operator's proxies are none of
 * them, because their addresses may hold a password and they lead to hosts that nobody meant for agents.
 */
const inherited = ["PATH", "LANG", "LC_ALL", "TZ", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"]

/** The directories that belong to the agent alone, with the variables that name them. */
export const homeVariables = (command: Pick<AgentCommand, "homeDir" | "tmpDir">): Record<string, string> => ({
  HOME: command.homeDir,
  XDG_CONFIG_HOME: `${command.homeDir}/.config`,
  XDG_DATA_HOME: `${command.homeDir}/.local/share`,
  XDG_STATE_HOME: `${command.homeDir}/.local/state`,
  XDG_CACHE_HOME: `${command.homeDir}/.cache`,
  TMPDIR: command.tmpDir
})

/** The whole environment of the agent. */
export const environmentOf = (
  command: Pick<AgentCommand, "environment" | "homeDir" | "leaseId" | "tmpDir">,
  bootId: string
): Record<string, string> => {
  const environment: Record<string, string> = {}
  for (const name of inherited) {
    const value = process.env[name]
    if (value !== undefined) environment[name] = value
  }
  // The gateway of a turn is lent on loopback, which no proxy reaches.
  for (const name of ["NO_PROXY", "no_proxy"]) environment[name] = "127.0.0.1,localhost"
  for (const [name, value] of Object.entries(command.environment)) {
    environment[name] = Redacted.isRedacted(value) ? Redacted.value(value) : value
  }
  const marks = markVariables([
    { kind: "lease", id: command.leaseId },
    { kind: "boot", id: bootId }
  ])
  return { ...environment, ...homeVariables(command), ...marks }
}

const makeDirectories = (command: AgentCommand) =>
  Effect.tryPromise({
    try: async () => {
      await mkdir(command.homeDir, { recursive: true, mode: 0o700 })
      await Promise.all([
        mkdir(command.workspaceDir, { recursive: true }),
        ...Object.values(homeVariables(command)).map((directory) => mkdir(directory, { recursive: true, mode: 0o700 }))
      ])
    },
    catch: () =>
      new ExecutorError({ kind: "spawn_failed", message: `The agent's home ${command.homeDir} cannot be made.` })
  })

/** The executor that starts agents for a boot of the service. */
interface Launcher {
  readonly bootId: string
  readonly limit: Limit
}

const cannotStart = (command: AgentCommand, code: string | undefined) =>
  new ExecutorError({
    kind: "spawn_failed",
    message: `${command.executable} cannot be started (${code ?? "unknown error"}); install the harness again.`
  })

/** The program that sets the limits starts in any case, so the agent's own program is checked first. */
const checkExecutable = (command: AgentCommand) =>
  Effect.tryPromise({
    try: () => access(command.executable, constants.X_OK),
    catch: (error) => cannotStart(command, error instanceof Error && "code" in error ? String(error.code) : undefined)
  })

const start = (command: AgentCommand, { bootId, limit }: Launcher, exit: Deferred.Deferred<AgentExit>) =>
  Effect.async<ChildProcessWithoutNullStreams, ExecutorError>((resume) => {
    const [program = "", ...args] = limit(command.leaseId, [command.executable, ...command.args])
    const child = spawn(program, args, {
      cwd: command.workspaceDir,
      env: environmentOf(command, bootId),
      stdio: ["pipe", "pipe", "pipe"],
      detached: true
    })
    // The listeners come before anything else, because the process may end at once.
    child.once("exit", (code, name) => Deferred.unsafeDone(exit, Effect.succeed({ code, signal: name })))
    child.once("spawn", () => resume(Effect.succeed(child)))
    child.once("error", (error: NodeJS.ErrnoException) => resume(Effect.fail(cannotStart(command, error.code))))
    // A process that ends during the write reports it by its exit.
    child.stdin.on("error", () => undefined)
  })

interface Running {
  readonly child: ChildProcessWithoutNullStreams
  readonly pid: number
  readonly leaseId: string
  /** The time from which processes of the lease can exist. No earlier process can have got the lease from this one. */
  readonly startedAt: number
  readonly exit: Deferred.Deferred<AgentExit>
}

/** A limit that also holds where interruption is off, because the wait itself can always be given up. */
const within = <A, E>(effect: Effect.Effect<A, E>, milliseconds: number) =>
  Effect.timeoutOption(Effect.interruptible(effect), milliseconds)

/** The running processes. A service that ends without stopping them in order kills them with itself. */
const alive = new Set<Running>()
const endWithProcess = () => {
  for (const { pid } of alive) signal(-pid, "SIGKILL")
}

const leaseMark = (leaseId: string) => ({ kind: "lease" as const, id: leaseId })

const anythingLeft = ({ exit, leaseId, pid, startedAt }: Running) =>
  Effect.gen(function* () {
    if (!(yield* Deferred.isDone(exit))) return true
    return yield* Effect.promise(async () => (await groupAlive(pid)) || (await isBorne(leaseMark(leaseId), startedAt)))
  })

const waitUntilGone = (running: Running, milliseconds: number) =>
  anythingLeft(running).pipe(
    Effect.tap((left) => (left ? Effect.sleep(pollInterval) : Effect.void)),
    Effect.repeat({ while: (left) => left }),
    (gone) => within(gone, milliseconds)
  )

const kill = Effect.fnUntraced(function* (running: Running) {
  for (let round = 0; round < killRounds; round++) {
    signal(-running.pid, "SIGKILL")
    yield* Effect.promise(() => end(leaseMark(running.leaseId)))
    if (!(yield* anythingLeft(running))) return
    yield* Effect.sleep(pollInterval)
  }
  yield* Effect.logError("A process of an agent does not end").pipe(Effect.annotateLogs({ lease_id: running.leaseId }))
})

const politely = (hook: StopHooks["cancel"], grace: number | undefined) =>
  // The signals that follow do the work of a request that failed or was slow.
  hook === undefined || grace === undefined ? Effect.void : Effect.ignore(within(hook, grace))

const stop = Effect.fnUntraced(function* (running: Running, policy: StopPolicy, hooks: StopHooks) {
  const exited = yield* Deferred.isDone(running.exit)
  if (!exited) {
    yield* politely(hooks.cancel, policy.cancel_ms)
    yield* politely(hooks.close, policy.close_ms)
    yield* Effect.sync(() => running.child.stdin.end())
    yield* within(Deferred.await(running.exit), policy.stdin_eof_ms)
  }
  if (!(yield* anythingLeft(running))) return
  yield* Effect.sync(() => signal(-running.pid, "SIGTERM"))
  yield* waitUntilGone(running, policy.sigterm_ms)
  if (yield* anythingLeft(running)) yield* kill(running)
})

/** A process and its start, which no other process with the same number has. */
const identityOf = (pid: number): string => `${pid} ${startOf(pid)}`

/** `AgentProcess.endLaterProcesses`. A process can fork while it is ended, so the search is repeated until it finds none. */
const endLater = (running: Running, { sigterm_ms: graceMs }: StopPolicy) =>
  Effect.promise(async () => {
    const family = () => bearingSince(leaseMark(running.leaseId), running.startedAt)
    const known = new Set((await family()).map(({ pid }) => identityOf(pid)))
    const born = Effect.promise(async () => (await family()).filter(({ pid }) => !known.has(identityOf(pid))))
    return Effect.gen(function* () {
      const ended = new Map<number, ReapedProcess>()
      const kill = (name: NodeJS.Signals) =>
        Effect.map(born, (found) => {
          for (const each of found) {
            signal(each.pid, name)
            ended.set(each.pid, each)
          }
          return found.length > 0
        })
      if (!(yield* kill("SIGTERM"))) return []
      const someLeft = Effect.tap(
        Effect.map(born, (left) => left.length > 0),
        (some) => (some ? Effect.sleep(pollInterval) : Effect.void)
      )
      yield* within(Effect.repeat(someLeft, { while: (some) => some }), graceMs)
      yield* Effect.repeat(
        Effect.tap(kill("SIGKILL"), (some) => (some ? Effect.sleep(pollInterval) : Effect.void)),
        { while: (some) => some, times: killRounds }
      )
      return [...ended.values()]
    })
  })

const write = (child: ChildProcessWithoutNullStreams) => (line: string) =>
  Effect.async<void, ExecutorError>((resume) => {
    child.stdin.write(`${line}\n`, (error) =>
      resume(
        error
          ? Effect.fail(new ExecutorError({ kind: "io", message: "The agent does not read its input." }))
          : Effect.void
      )
    )
  })

/** Keeps the end of stderr, and gives its lines to a reader that keeps up. */
const readStderr = Effect.fnUntraced(function* (child: ChildProcessWithoutNullStreams) {
  const mailbox = yield* Mailbox.make<string>({ capacity: 256, strategy: "sliding" })
  let tail = Buffer.alloc(0)
  let rest = ""
  child.stderr.setEncoding("utf8")
  child.stderr.on("data", (text: string) => {
    tail = Buffer.concat([tail, Buffer.from(text)]).subarray(-stderrTailBytes)
    const lines = (rest + text).split("\n")
    rest = (lines.pop() ?? "").slice(0, stderrLineLength)
    for (const line of lines) mailbox.unsafeOffer(line.slice(0, stderrLineLength))
  })
  child.stderr.on("error", () => undefined)
  child.stderr.once("close", () => mailbox.unsafeDone(Exit.void))
  return { tail: Effect.sync(() => tail.toString("utf8")), lines: Mailbox.toStream(mailbox) }
})

const launch = Effect.fnUntraced(function* (command: AgentCommand, launcher: Launcher) {
  if (process.platform === "win32") {
    return yield* new ExecutorError({
      kind: "unavailable",
      message: "Agents run on Linux and macOS; on Windows use WSL."
    })
  }
  yield* Effect.all([checkExecutable(command), makeDirectories(command)], { concurrency: 2, discard: true })
  const exit = yield* Deferred.make<AgentExit>()
  const child = yield* start(command, launcher, exit)
  const pid = child.pid ?? 0
  const running: Running = { child, pid, leaseId: command.leaseId, startedAt: startOf(pid), exit }
  if (alive.size === 0) process.on("exit", endWithProcess)
  alive.add(running)
  const forget = Effect.sync(() => {
    alive.delete(running)
    if (alive.size === 0) process.off("exit", endWithProcess)
  })
  const once = yield* Effect.makeSemaphore(1)
  const stderr = yield* readStderr(child)
  const started: AgentProcess = {
    pid: running.pid,
    lines: yield* LineReader.make(child.stdout, maxLineBytes),
    write: write(child),
    exit: Deferred.await(exit),
    stderrLines: stderr.lines,
    stderrTail: stderr.tail,
    ...(process.platform === "linux" && { endLaterProcesses: endLater(running, command.stop) }),
    stop: (hooks = {}) =>
      Effect.uninterruptible(once.withPermits(1)(Effect.ensuring(stop(running, command.stop, hooks), forget)))
  }
  return started
})

/** Runs agents as processes of this machine and this user, for a boot of the service. */
export const make = (bootId: string): Effect.Effect<Executor> =>
  Effect.map(limitsOf(bootId), ({ limit, supported }) => ({
    backend: "local",
    isolation: isolationOf(supported),
    spawn: fn("Executor.spawn")((command: AgentCommand) =>
      Effect.acquireRelease(launch(command, { bootId, limit }), (started) => started.stop())
    ),
    reap: fn("Executor.reap")((leaseId: string) => Effect.promise(() => end(leaseMark(leaseId))))
  }))
