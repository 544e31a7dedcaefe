import type { ExecutorLimits, ResourceLimit } from "@reins/base/domain/ExecutorLimits"
import { Data, type Effect, type Redacted, type Scope, type Stream } from "effect"
import type { EnforcedLimits } from "./EnforcedLimits.js"
import type { StopPolicy } from "./StopPolicy.js"

/** The separation that a backend really gives. `none` is no security boundary: the agent can do whatever the service's user can. */
export interface Isolation {
  /** `sandbox` is a security boundary: the agent cannot do what the service's user can. */
  readonly level: "none" | "sandbox"
  /** True when the processes of an agent form a group of their own. */
  readonly process_group: boolean
  /** True when HOME is the agent's alone. */
  readonly own_home: boolean
  /** `restricted` when the agent reaches its own directories and those of its program only. */
  readonly filesystem: "shared" | "restricted"
  /** `restricted` when the agent reaches less than the service does. */
  readonly network: "shared" | "restricted"
  /** The program that separates agents; absent where there is none. */
  readonly engine?: {
    readonly name: string
    /** Null when it does not tell. */
    readonly version: string | null
    /** The image that agents run in, by its digest; null where they run in none. */
    readonly image: string | null
  }
  /** The limits that agents are held to, with the means; absent where there are none. */
  readonly limits?: EnforcedLimits
  /** One sentence for people. */
  readonly summary: string
}

/** An agent could not be run. */
export class ExecutorError extends Data.TaggedError("ExecutorError")<{
  /** `unavailable`: the backend cannot run here. `spawn_failed`: this command could not be started. `io`: its pipes broke. */
  readonly kind: "unavailable" | "spawn_failed" | "io"
  /** Says to a person what happened and what to do next. */
  readonly message: string
}> {}

/** The two directories of an agent, as absolute paths. */
export interface AgentPlaces {
  readonly workspaceDir: string
  readonly homeDir: string
}

/** An agent that is to be started. */
export interface AgentCommand {
  /** The mark of every process of the agent. `reap` finds the processes by it. */
  readonly leaseId: string
  /** An absolute path. */
  readonly executable: string
  /** The arguments, without the executable itself. */
  readonly args: ReadonlyArray<string>
  /** An absolute path: the working directory, which is made when it is not there. */
  readonly workspaceDir: string
  /** An absolute path: the writable home, which is made when it is not there. */
  readonly homeDir: string
  /** The directory below `homeDir` that TMPDIR names. */
  readonly tmpDir: string
  /**
   * The paths at which the agent finds its workspace and its home; those of the machine where it is absent. Only an executor with `ownPaths` is
   * given it.
   */
  readonly seenAt?: AgentPlaces
  /**
   * The directories with the agent's program, those that the operator shares with agents, and that with the shared objects of its repository. A sandbox must let the agent
   * read them, and run the Node of the service.
   */
  readonly programDirs: ReadonlyArray<string>
  /** The ports of the service's own relays on 127.0.0.1. The agent must reach them at the same address, whatever else it reaches. */
  readonly relayPorts: ReadonlyArray<number>
  /** Variables that are added to the few that every agent gets. Nothing else is inherited. */
  readonly environment: Readonly<Record<string, string | Redacted.Redacted<string>>>
  /** The limits that hold for this agent besides those of the executor, of which the lower ones count. All are `lowerable` ones of its isolation. */
  readonly limits?: Pick<ExecutorLimits, ResourceLimit>
  /** The steps of stopping the process when the scope closes. */
  readonly stop: StopPolicy
}

/** The end of a process: one of the two is null. */
export interface AgentExit {
  /** The exit code, unless a signal ended it. */
  readonly code: number | null
  /** The name of the signal that ended it, as in `SIGKILL`. */
  readonly signal: string | null
  /** A sentence that says which limit the process was ended for, where the executor knows it. */
  readonly reason?: string
}

/** Polite requests that precede the signals. Each is given the grace of the stop policy and may fail or hang. */
export interface StopHooks {
  /** Asks the agent to stop its work. */
  readonly cancel?: Effect.Effect<unknown, unknown>
  /** Asks the agent to put away its session. */
  readonly close?: Effect.Effect<unknown, unknown>
}

/** A started agent. */
export interface AgentProcess {
  /** The process id on this machine, or of the process that represents the agent here. */
  readonly pid: number
  /** The lines of stdout without their ends, up to 32 MiB each. A longer line fails with `io`. The stream can run once. */
  readonly lines: Stream.Stream<string, ExecutorError>
  /** Writes one line to stdin. Fails with `io` once the process is gone. */
  readonly write: (line: string) => Effect.Effect<void, ExecutorError>
  /** Waits for the exit of the process itself. */
  readonly exit: Effect.Effect<AgentExit>
  /** The lines of stderr, cut at 8 KiB. The oldest are dropped while nobody reads. They may hold secrets. The stream can run once. */
  readonly stderrLines: Stream.Stream<string>
  /** The last 16 KiB of stderr, for error messages inside the service. The text may hold secrets. */
  readonly stderrTail: Effect.Effect<string>
  /**
   * Notes the processes of the agent that live now, and gives the effect that ends all that were born later: SIGTERM, the grace of the stop
   * policy, and SIGKILL. That effect can run again and again, and gives what it ended. Absent where the executor cannot tell the processes
   * apart; the agent is then stopped after each turn.
   */
  readonly endLaterProcesses?: Effect.Effect<Effect.Effect<ReadonlyArray<ReapedProcess>>>
  /**
   * Stops the agent in steps: the cancel hook, the close hook, the end of stdin, SIGTERM to the group, and SIGKILL to the group and to every
   * process of the lease. It ends when no process is left, and leaves out the steps that are no longer needed. A second call does nothing.
   */
  readonly stop: (hooks?: StopHooks) => Effect.Effect<void>
}

/** A process that was found and ended. */
export interface ReapedProcess {
  /** The process that it was on this machine. */
  readonly pid: number
  /** The name of its program. */
  readonly command: string
}

/** A way to run agents, as a plain value. A registry holds those of an installation. */
export interface Executor {
  /** The name that sessions use to choose it and that their rows keep. It never changes. */
  readonly backend: string
  /** The true properties of the backend, which are shown to callers. */
  readonly isolation: Isolation
  /**
   * True when agents can find their directories at other paths than those of the machine. An agent's own state names its paths, so a session can
   * then go on on another machine.
   */
  readonly ownPaths?: boolean
  /** Starts a command. Closing the scope, also by interruption, leaves no process of it. */
  readonly spawn: (command: AgentCommand) => Effect.Effect<AgentProcess, ExecutorError, Scope.Scope>
  /** Ends every process of the lease, no matter which boot started it, and gives the processes that it ended. */
  readonly reap: (leaseId: string) => Effect.Effect<ReadonlyArray<ReapedProcess>>
  /**
   * Removes what ended boots of the service have left with a service of the machine, as a container engine, and gives the number of what it has
   * removed. Absent where agents are processes of this machine and nothing else.
   */
  readonly sweep?: (bootIds: ReadonlyArray<string>) => Effect.Effect<number>
  /** The command that removes the same for this boot, for a process beside the service that may have to do it alone. */
  readonly sweepCommand?: SweepCommand
}

/** A command that removes what an executor runs. */
export interface SweepCommand {
  readonly words: ReadonlyArray<string>
  /** The variables that it needs, which bear no secret of the service. */
  readonly environment: Readonly<Record<string, string>>
}
