import type { Effect, ParseResult, Stream } from "effect"
import type { HarnessEvent, HarnessFailure } from "./HarnessEvent.js"
import type { TurnInput } from "./TurnInput.js"

// A driver of one's own takes a turn and gives back these events.
export {
  type Asked,
  type Diagnostic,
  type HarnessDiff,
  HarnessEvent,
  HarnessFailure,
  type Tool,
  type ToolState,
  type Usage
} from "./HarnessEvent.js"
export type { HarnessConnection, PromptBlock, TurnInput } from "./TurnInput.js"

/** Runs one turn. `Harness.runTurn` says what it promises. */
export type RunTurn = (input: TurnInput) => Stream.Stream<HarnessEvent, HarnessFailure>

/** A way to speak with agents, as a plain value: a protocol, with what differs between the agents that speak it. */
export interface HarnessDriver {
  /** As manifests name it in `runtime.driver`. */
  readonly driver: string
  /**
   * Gives the function that runs the turns of one provider. It is given `runtime.settings` of the provider's manifest, and fails when they are not what the
   * driver takes, which keeps the service from starting.
   */
  readonly bind: (settings: unknown) => Effect.Effect<RunTurn, ParseResult.ParseError>
}
