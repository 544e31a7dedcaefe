import type { Effect, ParseResult, Scope } from "effect"
import type { AgentProcess } from "../executor/Executor.js"
import type { HarnessEvent, HarnessFailure, StopReason } from "./HarnessEvent.js"
import type { AgentInput, TurnRequest } from "./TurnInput.js"

// A driver of one's own opens agents, and has them run turns.
export {
  type Asked,
  type Diagnostic,
  type HarnessDiff,
  HarnessEvent,
  HarnessFailure,
  type HarnessUsage as Usage,
  type Reported,
  type StopReason,
  type Tool,
  type ToolState
} from "./HarnessEvent.js"
export type {
  AgentInput,
  HarnessConnection,
  PromptBlock,
  QuestionAnswer as Answer,
  ToolServer,
  TurnRequest,
  Word
} from "./TurnInput.js"

/** Takes events of a turn in their order. It waits while the reader is behind. */
export type Emit = (events: ReadonlyArray<HarnessEvent>) => Effect.Effect<void>

/** A started agent in its native session. It runs one turn after the other, and its process outlives them. */
export interface Agent {
  /** The agent's own name for its session. */
  readonly nativeSessionId: string
  /**
   * Runs one turn and gives its end. The events come in order: `ready` and `native_session`, then output. A turn that is interrupted or that
   * fails leaves an agent of which nothing is known, and which has to be stopped.
   */
  readonly turn: (request: TurnRequest, emit: Emit) => Effect.Effect<StopReason, HarnessFailure>
  /** As `AgentProcess.endLaterProcesses`. Undefined for an agent that has to be stopped after each turn. */
  readonly endLaterProcesses: AgentProcess["endLaterProcesses"]
  /** Completes when the agent can run no further turn, because its process has ended or broke its protocol. */
  readonly gone: Effect.Effect<void>
}

/** Starts an agent and opens its native session. Closing the scope stops the agent and leaves no process of it. */
export type OpenAgent = (input: AgentInput) => Effect.Effect<Agent, HarnessFailure, Scope.Scope>

/** A way to speak with agents, as a plain value: a protocol, with the settings in which its agents differ. */
export interface HarnessDriver {
  /** The name that manifests use in `runtime.driver`. */
  readonly driver: string
  /**
   * True for a driver that starts its agents before `AgentInput.workspaceMade`, and opens their sessions after it. The agents of any other driver
   * are started when the workspace is there.
   */
  readonly startsEarly?: boolean
  /**
   * Gives the function that opens the agents of one provider, from `runtime.settings` of the provider's manifest. It fails when the driver does
   * not take these settings, and the service then does not start.
   */
  readonly bind: (settings: unknown) => Effect.Effect<OpenAgent, ParseResult.ParseError>
}
