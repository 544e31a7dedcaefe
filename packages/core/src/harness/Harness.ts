import { Context, type Effect, Layer, type Stream } from "effect"
import * as AcpDriver from "./acp/AcpDriver.js"
import type { HarnessEvent, HarnessFailure } from "./HarnessEvent.js"
import type { Manifest } from "./Manifest.js"
import * as NativeState from "./NativeState.js"
import type { TurnInput } from "./TurnInput.js"

/** Runs turns on real agents. */
export class Harness extends Context.Tag("@reins/core/harness/Harness")<
  Harness,
  {
    /**
     * Starts the agent, runs one turn and stops the agent. Events come in order: `ready`, `native_session`, output, and last `ended`.
     * When the stream ends, fails or is interrupted, no process of the turn is left.
     */
    readonly runTurn: (input: TurnInput) => Stream.Stream<HarnessEvent, HarnessFailure>
    /** The agent's own session files below its home, and one digest over what `take` hears of them. Stable while no turn runs. */
    readonly nativeState: (
      manifest: Manifest,
      homeDir: string,
      take?: NativeState.TakePiece
    ) => Effect.Effect<NativeState.NativeState>
  }
>() {
  static readonly layer = Layer.succeed(
    Harness,
    Harness.of({ runTurn: AcpDriver.runTurn, nativeState: NativeState.read })
  )
}
