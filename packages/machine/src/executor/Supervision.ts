import { type ChildProcess, spawn } from "node:child_process"
import { constants } from "node:fs"
import { access, mkdir } from "node:fs/promises"
import { Duplex, Readable, type Writable } from "node:stream"
import { cutText, textOfEnd } from "@reins/base/base/CutText"
import { onWindows } from "@reins/base/base/HostRefusal"
import { limited } from "@reins/base/base/Limited"
import { hasProc } from "@reins/base/base/ProcFs"
import { fn } from "@reins/base/base/Traced"
import { Deferred, Effect, Exit, Mailbox, type Scope } from "effect"
import { homeVariables } from "./AgentEnvironment.js"
import { streams } from "./Descriptors.js"
import {
  type AgentCommand,
  type AgentExit,
  type AgentProcess,
  type Executor,
  ExecutorError,
  type ReapedProcess,
  type StopHooks
} from "./Executor.js"
import * as LineReader from "./LineReader.js"
import { end, endNow, findMarkedSince, groupAlive, isBorne, note, signal, startOf } from "./ProcessTable.js"
import type { StopPolicy } from "./StopPolicy.js"
import { because } from "./sandbox/Exit.js"

const maxLineBytes = 32 * 1024 * 1024
const stderrTailBytes = 16 * 1024
const stderrLineLength = 8 * 1024
/** The time to wait after SIGKILL. Only a process that hangs in the kernel survives it for long. */
const killRounds = 4
const pollInterval = "25 millis"

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

/** The process that is started for an agent: the agent itself, or what it runs in. */
export interface Launch {
  /** The program and its arguments. The program is found by the PATH of the service. */
  readonly command: ReadonlyArray<string>
  /** The whole environment of the process. */
  readonly environment: Readonly<Record<string, string>>
  /** The bytes that the process finds at its descriptors from 3 on. Each comes to its end. */
  readonly given?: ReadonlyArray<Uint8Array>
  /** Written to the input of the process before anything else. */
  readonly preface?: string
  /** Gets what the process writes to the descriptor after those. */
  readonly told?: (text: string) => void
  /** The process group that is asked to end before it is killed; that of the process unless another is known. */
  readonly politeGroup?: () => number | undefined
  /** The processes of the agent that were born since a time, as `startOf` gives it; those with its mark where that is undefined. */
  readonly family?: (since: number) => Promise<ReadonlyArray<ReapedProcess>> | undefined
  /** The end of the agent, where the process only stands for it. */
  readonly exitOf?: (exit: AgentExit) => AgentExit
  /** Done when the agent may be given its first line. */
  readonly ready?: Effect.Effect<unknown>
  /** Runs beside the agent. Its words are the reason for which the agent is ended. */
  readonly watch?: Effect.Effect<string>
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

const start = (command: AgentCommand, launch: Launch, exit: Deferred.Deferred<AgentExit>, known: Known) =>
  Effect.async<Child, ExecutorError>((resume) => {
    const [program = "", ...args] = launch.command
    // Boundary: the standard streams are pipes, which the compiler does not see when there are further ones.
    const child = spawn(program, args, {
      cwd: command.workspaceDir,
      env: launch.environment,
      stdio: streams((launch.given?.length ?? 0) + (launch.told === undefined ? 0 : 1)),
      detached: true
    }) as Child
    // The listeners come before anything else, because the process may end at once.
    child.once("exit", (code, signal) => {
      const own = launch.exitOf?.({ code, signal }) ?? { code, signal }
      Deferred.unsafeDone(exit, Effect.succeed(because(own, known.reason ?? own.reason)))
    })
    child.once("spawn", () => resume(Effect.succeed(child)))
    child.once("error", (error: NodeJS.ErrnoException) => resume(Effect.fail(cannotStart(command, error.code))))
    // A process that ends during the write reports it by its exit.
    child.stdin.on("error", () => undefined)
    connect(child, launch)
  })

/** Gives the process its bytes, and hears what it tells. A process that ends before it has read them reports it by its exit. */
const connect = (child: Child, { given = [], preface, told }: Launch) => {
  if (preface !== undefined) child.stdin.write(preface)
  for (const [index, bytes] of given.entries()) give(child.stdio[3 + index], bytes)
  const telling = child.stdio[3 + given.length]
  if (told !== undefined && telling instanceof Readable)
    telling
      .on("error", () => undefined)
      .setEncoding("utf8")
      .on("data", told)
}

/** Writes all that a process finds at one of its descriptors. */
export const give = (pipe: Readable | Writable | null | undefined, bytes: Uint8Array) => {
  if (pipe instanceof Duplex) pipe.on("error", () => undefined).end(bytes)
}

type Child = ChildProcess & { readonly stdin: Writable; readonly stdout: Readable; readonly stderr: Readable }

/** The reason for which the agent is being ended, once there is one. */
interface Known {
  reason?: string
}

interface Running {
  readonly child: Child
  readonly pid: number
  readonly politeGroup: () => number
  readonly family: () => Promise<ReadonlyArray<ReapedProcess>>
  readonly leaseId: string
  /** The time from which processes of the lease can exist. No earlier process can have got the lease from this one. */
  readonly startedAt: number
  readonly exit: Deferred.Deferred<AgentExit>
  readonly known: Known
}

const within = <A, E>(effect: Effect.Effect<A, E>, milliseconds: number) =>
  limited(effect, Effect.timeoutOption(milliseconds))

/** The running processes. A service that ends without stopping them in order kills them with itself. */
const alive = new Set<Running>()
const endWithProcess = () => {
  try {
    // A tool may run in a group of its own, and its agent may be too busy to end it. Its parent may be all that tells it, so it goes first.
    endNow([...alive].map(({ leaseId }) => leaseMark(leaseId)))
  } finally {
    for (const { pid } of alive) signal(-pid, "SIGKILL")
  }
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
  yield* Effect.promise(() => note(leaseMark(running.leaseId)))
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
  yield* Effect.promise(() => note(leaseMark(running.leaseId)))
  const exited = yield* Deferred.isDone(running.exit)
  if (!exited) {
    yield* politely(hooks.cancel, policy.cancel_ms)
    yield* politely(hooks.close, policy.close_ms)
    yield* Effect.sync(() => running.child.stdin.end())
    yield* within(Deferred.await(running.exit), policy.stdin_eof_ms)
  }
  if (!(yield* anythingLeft(running))) return
  yield* Effect.sync(() => signal(-running.politeGroup(), "SIGTERM"))
  yield* waitUntilGone(running, policy.sigterm_ms)
  if (yield* anythingLeft(running)) yield* kill(running)
})

/** A process and its start, which no other process with the same number has. */
const identityOf = (pid: number): string => `${pid} ${startOf(pid)}`

/** `AgentProcess.endLaterProcesses`. A process can fork while it is ended, so the search is repeated until it finds none. */
const endLater = (running: Running, { sigterm_ms: graceMs }: StopPolicy) =>
  Effect.promise(async () => {
    const { family } = running
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

const write = (child: Child) => (line: string) =>
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
const readStderr = Effect.fnUntraced(function* (child: Child) {
  const mailbox = yield* Mailbox.make<string>({ capacity: 256, strategy: "sliding" })
  let tail = Buffer.alloc(0)
  let rest = ""
  const keep = (text: string) => {
    tail = Buffer.concat([tail, Buffer.from(text)]).subarray(-stderrTailBytes)
  }
  child.stderr.setEncoding("utf8")
  child.stderr.on("data", (text: string) => {
    keep(text)
    const lines = (rest + text).split("\n")
    rest = cutText(lines.pop() ?? "", stderrLineLength)
    for (const line of lines) mailbox.unsafeOffer(cutText(line, stderrLineLength))
  })
  child.stderr.on("error", () => undefined)
  child.stderr.once("close", () => mailbox.unsafeDone(Exit.void))
  return {
    tail: Effect.sync(() => textOfEnd(tail)),
    lines: Mailbox.toStream(mailbox)
  }
})

const launch = Effect.fnUntraced(function* (command: AgentCommand, made: Launch) {
  const exit = yield* Deferred.make<AgentExit>()
  const known: Known = {}
  const child = yield* start(command, made, exit, known)
  const pid = child.pid ?? 0
  const politeGroup = () => made.politeGroup?.() ?? pid
  const { leaseId } = command
  const startedAt = startOf(pid)
  const family = () => made.family?.(startedAt) ?? findMarkedSince(leaseMark(leaseId), startedAt)
  const running: Running = { child, pid, politeGroup, family, leaseId, startedAt, exit, known }
  if (alive.size === 0) process.on("exit", endWithProcess)
  alive.add(running)
  const forget = Effect.sync(() => {
    alive.delete(running)
    if (alive.size === 0) process.off("exit", endWithProcess)
  })
  const once = yield* Effect.makeSemaphore(1)
  const stderr = yield* readStderr(child)
  const send = write(child)
  const ready = Effect.raceFirst(made.ready ?? Effect.void, Deferred.await(exit))
  const started: AgentProcess = {
    pid: running.pid,
    lines: yield* LineReader.make(child.stdout, maxLineBytes),
    write: made.ready === undefined ? send : (line) => Effect.zipRight(ready, send(line)),
    exit: Deferred.await(exit),
    stderrLines: stderr.lines,
    stderrTail: stderr.tail,
    ...(hasProc() && { endLaterProcesses: endLater(running, command.stop) }),
    stop: (hooks = {}) =>
      Effect.uninterruptible(once.withPermits(1)(Effect.ensuring(stop(running, command.stop, hooks), forget)))
  }
  return { running, started }
})

/** Checks a command, and makes what it needs. */
const checked = Effect.fnUntraced(function* (command: AgentCommand) {
  if (process.platform === "win32") {
    return yield* new ExecutorError({
      kind: "unavailable",
      message: onWindows
    })
  }
  yield* Effect.all([checkExecutable(command), makeDirectories(command)], { concurrency: 2, discard: true })
})

/** `Executor.spawn` of an executor that starts a process of this machine for each agent. What `prepare` acquires outlives the process. */
export const spawning =
  (prepare: (command: AgentCommand) => Effect.Effect<Launch, ExecutorError, Scope.Scope>): Executor["spawn"] =>
  (command) =>
    Effect.gen(function* () {
      yield* checked(command)
      const made = yield* prepare(command)
      const { running, started } = yield* Effect.acquireRelease(launch(command, made), ({ started }) => started.stop())
      if (made.watch !== undefined) {
        const ended = Effect.flatMap(made.watch, (reason) => {
          running.known.reason = reason
          return kill(running)
        })
        yield* Effect.forkScoped(Effect.raceFirst(ended, started.exit))
      }
      return started
    })

/** `Executor.reap` of an executor whose agents are processes of this machine with marks. */
export const reap: Executor["reap"] = fn("Executor.reap")((leaseId: string) =>
  Effect.promise(() => end(leaseMark(leaseId)))
)
