import { join } from "node:path"
import type { ExecutorLimits } from "@reins/base/domain/ExecutorLimits"
import type { NetworkAccess } from "@reins/base/domain/NetworkAccess"
import { Chunk, Data, Effect, Fiber, Option, type Scope, Stream } from "effect"
import type { AgentCommand, AgentExit, AgentPlaces, Executor, ExecutorError } from "../../executor/Executor.js"
import { redactedOf, scrubber } from "../../harness/Secrets.js"
import { destinationsOf } from "../../outbound/NetworkRules.js"
import { proxyVariables, WayOut } from "../../outbound/WayOut.js"
import type { AgentVariables, SetupCommand } from "../TreeOrder.js"
import { SetupOutput } from "./SetupOutput.js"
import type { SetupNote } from "./SetupReport.js"

/** The commands of a setup, and where they run. */
export interface SetupCommands {
  readonly steps: ReadonlyArray<SetupCommand>
  readonly variables: AgentVariables
  /** The hosts that the commands may connect to; undefined where the spec says nothing. */
  readonly network: NetworkAccess | undefined
  readonly limits: ExecutorLimits | undefined
  readonly executor: Executor
  /** The mark of all processes of the setup. */
  readonly mark: string
  /** The directory with the objects that the repository shares; null where it has all itself. */
  readonly objectsDir: string | null
  readonly workspaceDir: string
  readonly homeDir: string
  /** The paths at which the commands find these two, where their executor gives them others. */
  readonly seenAt?: AgentPlaces
}

/** A command did not end with 0. The message names it and quotes the end of its output, with secrets blanked. */
export class SetupStepFailed extends Data.TaggedError("SetupStepFailed")<{ readonly message: string }> {}

/** The directory of the home that holds the temporary files of a setup, and nothing that it leaves. */
export const temporaryName = ".setup-tmp"

/** Lines are told in batches of so many, or after this time. */
const batchLines = 500
const batchWindow = "250 millis"
/** The time in which the rest of the output is read after the end of a command. */
const drain = "10 seconds"

/**
 * A shell waits for a line, which comes once the proxy can be reached. Then it finds the program, gives it no input, and lets both of its
 * streams be one, in which the order of the lines is kept.
 */
const merged = 'read -r line && exec "$@" </dev/null 2>&1'

const commandOf = (setup: SetupCommands, { argv }: SetupCommand, proxy: AgentVariables, port: number | undefined) => {
  const command: AgentCommand = {
    leaseId: setup.mark,
    executable: "/bin/sh",
    args: ["-c", merged, "sh", ...argv],
    workspaceDir: setup.workspaceDir,
    homeDir: setup.homeDir,
    ...(setup.seenAt && { seenAt: setup.seenAt }),
    tmpDir: join(setup.homeDir, temporaryName),
    programDirs: setup.objectsDir === null ? [] : [setup.objectsDir],
    relayPorts: port === undefined ? [] : [port],
    environment: { ...setup.variables, ...proxy },
    ...(setup.limits && { limits: setup.limits }),
    stop: { stdin_eof_ms: 0, sigterm_ms: 2000 }
  }
  return command
}

/** The end of a command; none when it took too long. `words` are those of the executor. */
interface Ended {
  readonly exit: Option.Option<AgentExit>
  readonly words: string
}

const howOf = ({ exit, words }: Ended, { timeout_seconds }: SetupCommand): string => {
  if (Option.isNone(exit)) return `took longer than ${timeout_seconds} s and was ended`
  const { code, reason = words.trim().split("\n").at(-1) ?? "", signal } = exit.value
  if (code !== null) return `failed with exit code ${code}`
  return `was ended by ${signal ?? "a signal"}${reason === "" ? "" : ` (${reason})`}`
}

const failure = (step: SetupCommand, ended: Ended, output: string): SetupStepFailed =>
  new SetupStepFailed({
    message: `The setup command "${step.name}" ${howOf(ended, step)}. ${output === "" ? "It wrote nothing." : `It wrote last:\n${output}`}`
  })

/** Runs the commands of a setup one after the other. `tell` gets what they write. Nothing of a command is left when it has ended. */
export const setupRun = Effect.gen(function* () {
  const wayOut = yield* WayOut

  const passage = ({ executor, network }: SetupCommands) => {
    const isShared = executor.isolation.network === "shared"
    const access = network ?? (wayOut.isOnlyWay && isShared ? "open" : undefined)
    const destinations = access === undefined ? undefined : destinationsOf(access, "setup_network")
    return destinations === undefined ? Effect.succeed(undefined) : wayOut.open(destinations)
  }

  /** Runs one command to its end, and reads what it writes meanwhile. */
  const runCommand = Effect.fnUntraced(function* (
    { executor }: SetupCommands,
    command: AgentCommand,
    seconds: number,
    take: (lines: Chunk.Chunk<string>) => Effect.Effect<void>
  ) {
    const { ended, reading } = yield* Effect.scoped(
      Effect.gen(function* () {
        const process = yield* executor.spawn(command)
        // One that has ended by now tells why by its exit.
        yield* Effect.ignore(process.write("go"))
        const lines = Stream.groupedWithin(process.lines, batchLines, batchWindow)
        // The output ends with the last process, which is after this scope.
        const reading = yield* Effect.forkDaemon(Stream.runForEach(lines, take))
        const broken = Effect.zipRight(Fiber.join(reading), Effect.never)
        const exit = yield* Effect.raceFirst(process.exit, broken).pipe(
          Effect.timeoutOption(seconds * 1000),
          Effect.onError(() => Fiber.interrupt(reading))
        )
        const ended: Ended = { exit, words: yield* process.stderrTail }
        return { ended, reading }
      })
    )
    yield* Effect.zipRight(
      Effect.timeoutOption(Effect.exit(Fiber.join(reading)), drain),
      Effect.asVoid(Fiber.interrupt(reading))
    )
    return ended
  })

  return Effect.fnUntraced(function* (
    setup: SetupCommands,
    tell: (notes: ReadonlyArray<SetupNote>) => Effect.Effect<void>
  ): Effect.fn.Return<void, SetupStepFailed | ExecutorError, Scope.Scope> {
    const opened = yield* passage(setup)
    const proxy = opened === undefined ? {} : proxyVariables(opened)
    const output = new SetupOutput(scrubber({ ...redactedOf(setup.variables), ...redactedOf(proxy) }))
    for (const [index, step] of setup.steps.entries()) {
      output.begin()
      const at = { step: index + 1, name: step.name }
      const event = (said: { readonly output: string; readonly truncated: boolean }, code: number | null) =>
        ({ type: "setup.progressed", payload: { ...at, ...said, exit_code: code } }) satisfies SetupNote
      const take = (lines: Chunk.Chunk<string>) => {
        const pieces = output.take(Chunk.toReadonlyArray(lines))
        return pieces.length === 0 ? Effect.void : tell(pieces.map((piece) => event(piece, null)))
      }
      const command = commandOf(setup, step, proxy, opened?.port)
      const ended = yield* runCommand(setup, command, step.timeout_seconds, take)
      const code = Option.match(ended.exit, { onNone: () => null, onSome: (exit) => exit.code })
      yield* tell([event({ output: "", truncated: false }, code)])
      if (code !== 0) return yield* failure(step, ended, output.end)
    }
  }, Effect.scoped)
})
