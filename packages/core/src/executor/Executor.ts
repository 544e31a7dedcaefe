import { Data, type Effect, type Redacted, type Scope, type Stream } from "effect"
import type { StopPolicy } from "./StopPolicy.js"

/** What a backend really keeps apart. `none` is no security boundary: the agent can do whatever the service's user can. */
export interface Isolation {
  readonly level: "none" | "sandbox"
  readonly process_group: boolean
  readonly own_home: boolean
  readonly filesystem: "shared" | "restricted"
  readonly network: "shared" | "restricted"
  /** One sentence for people. */
  readonly summary: string
}

/** `unavailable`: the backend cannot run here. `spawn_failed`: this command could not be started. `io`: its pipes broke. */
export class ExecutorError extends Data.TaggedError("ExecutorError")<{
  readonly kind: "unavailable" | "spawn_failed" | "io"
  readonly message: string
}> {}

export interface AgentCommand {
  readonly leaseId: string
  readonly executable: string
  readonly args: ReadonlyArray<string>
  /** Absolute paths. The working directory and the writable home; both exist or are created. */
  readonly workspaceDir: string
  readonly homeDir: string
  /** Below `homeDir`; TMPDIR names it. */
  readonly tmpDir: string
  /** Directories that the agent's program is read from; a sandbox must show them. */
  readonly programDirs: ReadonlyArray<string>
  /** Added to the few variables that every agent gets. Nothing else is inherited. */
  readonly environment: Readonly<Record<string, string | Redacted.Redacted<string>>>
  /** How the process is stopped when the scope closes. */
  readonly stop: StopPolicy
}

export interface AgentExit {
  readonly code: number | null
  readonly signal: string | null
}

/** Polite requests that precede the signals. Each is given the grace of the stop policy and may fail or hang. */
export interface StopHooks {
  readonly cancel?: Effect.Effect<unknown, unknown>
  readonly close?: Effect.Effect<unknown, unknown>
}

export interface AgentProcess {
  readonly pid: number
  /** Lines of stdout without their end, up to 32 MiB each; ends with the output. A longer line fails with `io`. Runs once. */
  readonly lines: Stream.Stream<string, ExecutorError>
  /** Writes one line to stdin. Fails with `io` once the process is gone. */
  readonly write: (line: string) => Effect.Effect<void, ExecutorError>
  /** Waits for the exit of the process itself. */
  readonly exit: Effect.Effect<AgentExit>
  /** Lines of stderr, cut at 8 KiB; the oldest are lost when nobody reads. They may hold anything. Runs once. */
  readonly stderrLines: Stream.Stream<string>
  /** The last 16 KiB of stderr. For error messages inside the service: it may hold anything. */
  readonly stderrTail: Effect.Effect<string>
  /**
   * Cancel hook, close hook, end of stdin, SIGTERM to the group, SIGKILL to the group and to everything that bears the lease; ends
   * when nothing is left. A step is left out as soon as nothing is left. Repeating it is a no-op.
   */
  readonly stop: (hooks?: StopHooks) => Effect.Effect<void>
}

export interface ReapedProcess {
  readonly pid: number
  readonly command: string
}

/** A way to run agents. A plain value; a registry holds the ones that a deployment has. */
export interface Executor {
  readonly backend: string
  readonly isolation: Isolation
  /** Starts a command. Closing the scope, also by interruption, leaves no process of it. */
  readonly spawn: (command: AgentCommand) => Effect.Effect<AgentProcess, ExecutorError, Scope.Scope>
  /** Ends every process that bears the lease, whoever started it, and says which. Empty when there was none. */
  readonly reap: (leaseId: string) => Effect.Effect<ReadonlyArray<ReapedProcess>>
}
