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
  type Reported,
  type Tool,
  type ToolState,
  type Usage
} from "./HarnessEvent.js"
export type { Answer, HarnessConnection, PromptBlock, TurnInput, Word } from "./TurnInput.js"

/** Runs one turn. `Harness.runTurn` says what it promises. */
export type RunTurn = (input: TurnInput) => Stream.Stream<HarnessEvent, HarnessFailure>

/** A way to speak with agents, as a plain value: a protocol, with the settings in which its agents differ. */
export interface HarnessDriver {
  /** The name that manifests use in `runtime.driver`. */
  readonly driver: string
  /**
   * Gives the function that runs the turns of one provider, from `runtime.settings` of the provider's manifest. It fails when the driver does
   * not take these settings, and the service then does not start.
   */
  readonly bind: (settings: unknown) => Effect.Effect<RunTurn, ParseResult.ParseError>
}
