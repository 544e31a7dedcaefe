import { once } from "@reins/base/base/Once"
import { Context, Data, Effect, Layer, type Scope } from "effect"
import { acpDriver } from "./acp/AcpDriver.js"
import type { Agent, HarnessDriver, OpenAgent } from "./HarnessDriver.js"
import { HarnessFailure } from "./HarnessEvent.js"
import { workspaceMade } from "./Launch.js"
import type { Manifest } from "./Manifest.js"
import { Manifests } from "./Manifests.js"
import * as NativeState from "./NativeState.js"
import type { AgentInput } from "./TurnInput.js"

/** The drivers that are part of Reins. A new driver has a file of its own and its name in this list. */
export const builtInDrivers: ReadonlyArray<HarnessDriver> = [acpDriver]

/** A provider cannot run, because its driver is missing or does not take the settings of the manifest. */
export class ProviderUndriven extends Data.TaggedError("ProviderUndriven")<{
  /** The provider of the manifest. */
  readonly providerId: string
  /** A sentence that names the missing or wrong part. */
  readonly message: string
}> {}

/** Starts real agents. */
export class Harness extends Context.Tag("@reins/core/harness/Harness")<
  Harness,
  {
    /** Starts an agent and opens its native session. Closing the scope stops the agent and leaves no process of it. */
    readonly open: (input: AgentInput) => Effect.Effect<Agent, HarnessFailure, Scope.Scope>
    /**
     * The agent's own session files below its home. `take` gets their content, and the digest covers it. The digest stays the same while no
     * agent runs.
     */
    readonly nativeState: (
      manifest: Manifest,
      homeDir: string,
      take?: NativeState.TakePiece
    ) => Effect.Effect<NativeState.NativeFiles>
  }
>() {
  /** Only the given drivers. Fails with `ProviderUndriven` unless every enabled provider has its driver. */
  static readonly layerOf = (drivers: ReadonlyArray<HarnessDriver>) =>
    Layer.effect(
      Harness,
      Effect.gen(function* () {
        const { list, originOf } = yield* Manifests
        for (const manifest of list) {
          if (manifest.runtime === null) continue
          const { source } = yield* Effect.orDie(originOf(manifest.provider_id))
          yield* bound(drivers, manifest, ` (${source})`)
        }
        return Harness.of({
          open: (input) =>
            Effect.flatMap(Effect.mapError(bound(drivers, input.manifest), cannotRun), (open) => watched(open)(input)),
          nativeState: NativeState.readNativeState
        })
      })
    )

  /** The drivers that are part of Reins. */
  static readonly layer = Harness.layerOf(builtInDrivers)
}

/** Starts an agent once its workspace is there. */
const afterWorkspace =
  (open: OpenAgent): OpenAgent =>
  (input) =>
    Effect.zipRight(workspaceMade(input), open(input))

/** Has `AgentInput.opening` look before and after an agent opens its session. */
const watched =
  (open: OpenAgent): OpenAgent =>
  (input) =>
    Effect.gen(function* () {
      const { opening, workspaceMade: made } = input
      if (opening === undefined) return yield* open(input)
      const look = yield* once(opening)
      // The program of an agent that starts early may find the files before its driver waits for them.
      const begun = yield* once(Effect.tap(made ?? Effect.succeed(true), (isMade) => (isMade ? look : Effect.void)))
      if (made === undefined) yield* begun
      else yield* Effect.forkScoped(begun)
      const agent = yield* open(made === undefined ? input : { ...input, workspaceMade: begun })
      yield* Effect.flatten(look)
      return agent
    })

const bound = (
  drivers: ReadonlyArray<HarnessDriver>,
  { provider_id: providerId, runtime }: Manifest,
  origin = ""
): Effect.Effect<OpenAgent, ProviderUndriven> => {
  if (runtime === null) return new ProviderUndriven({ providerId, message: `${providerId} is disabled.` })
  const driver = drivers.find((each) => each.driver === runtime.driver)
  if (driver === undefined)
    return new ProviderUndriven({
      providerId,
      message: `The manifest of ${providerId}${origin} names the driver ${runtime.driver}, which this installation does not have.`
    })
  return Effect.mapBoth(driver.bind(runtime.settings), {
    onSuccess: (open) => (driver.startsEarly === true ? open : afterWorkspace(open)),
    onFailure: ({ message }) =>
      new ProviderUndriven({
        providerId,
        message: `The driver ${runtime.driver} does not take the settings of ${providerId}${origin}: ${message}`
      })
  })
}

const cannotRun = ({ message }: ProviderUndriven): HarnessFailure =>
  new HarnessFailure({ reason: "executor_unavailable", message, retryable: false })
