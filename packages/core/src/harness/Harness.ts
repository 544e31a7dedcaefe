import { Context, Data, Effect, Layer, Mailbox, type Scope, Stream } from "effect"
import { acpDriver } from "./acp/AcpDriver.js"
import type { Agent, HarnessDriver, OpenAgent } from "./HarnessDriver.js"
import { type HarnessEvent, HarnessFailure } from "./HarnessEvent.js"
import type { Manifest } from "./Manifest.js"
import { Manifests } from "./Manifests.js"
import * as NativeState from "./NativeState.js"
import type { AgentInput, TurnInput } from "./TurnInput.js"

/** The drivers that are part of Reins. A new driver has a file of its own and its name in this list. */
export const builtInDrivers: ReadonlyArray<HarnessDriver> = [acpDriver]

/** A provider cannot run, because its driver is missing or does not take the settings of the manifest. */
export class ProviderUndriven extends Data.TaggedError("ProviderUndriven")<{
  /** The provider of the manifest. */
  readonly providerId: string
  /** A sentence that names the missing or wrong part. */
  readonly message: string
}> {}

/** Starts real agents and runs turns on them. */
export class Harness extends Context.Tag("@reins/core/harness/Harness")<
  Harness,
  {
    /** Starts an agent and opens its native session. Closing the scope stops the agent and leaves no process of it. */
    readonly open: (input: AgentInput) => Effect.Effect<Agent, HarnessFailure, Scope.Scope>
    /**
     * Starts the agent, runs one turn and stops the agent. Events come in order: `ready`, `native_session`, output, and last `ended`. No
     * process of the turn is left when the stream has ended, failed or been interrupted.
     */
    readonly runTurn: (input: TurnInput) => Stream.Stream<HarnessEvent, HarnessFailure>
    /**
     * The agent's own session files below its home. `take` gets their content, and the digest covers it. The digest stays the same while no
     * turn runs.
     */
    readonly nativeState: (
      manifest: Manifest,
      homeDir: string,
      take?: NativeState.TakePiece
    ) => Effect.Effect<NativeState.NativeState>
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
        const open = (input: AgentInput) =>
          Effect.flatMap(Effect.mapError(bound(drivers, input.manifest), cannotRun), (openAgent) => openAgent(input))
        return Harness.of({
          open,
          runTurn: (input) => oneTurn(open, input),
          nativeState: NativeState.read
        })
      })
    )

  /** The drivers that are part of Reins. */
  static readonly layer = Harness.layerOf(builtInDrivers)
}

/** The number of events that may wait for a reader before the agent has to wait too. */
const waitingEvents = 256

/** One turn of an agent of its own. */
export const oneTurn = (open: OpenAgent, input: TurnInput): Stream.Stream<HarnessEvent, HarnessFailure> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const events = yield* Mailbox.make<HarnessEvent, HarnessFailure>({ capacity: waitingEvents })
      const begun = Effect.raceFirst(open(input), Effect.as(input.cancel, undefined))
      const turn = Effect.flatMap(begun, (agent) =>
        agent === undefined
          ? Effect.succeed("cancelled" as const)
          : agent.turn(input, (batch) => Effect.asVoid(events.offerAll(batch)))
      )
      yield* Effect.scoped(turn).pipe(
        Effect.flatMap((stop_reason) => events.offer({ _tag: "ended", stop_reason })),
        Mailbox.into(events),
        Effect.forkScoped
      )
      return Mailbox.toStream(events)
    })
  )

const bound = (
  drivers: ReadonlyArray<HarnessDriver>,
  { provider_id: providerId, runtime }: Manifest,
  origin = ""
): Effect.Effect<OpenAgent, ProviderUndriven> => {
  if (runtime === null) return new ProviderUndriven({ providerId, message: `${providerId} is disabled.` })
  const driver = drivers.find((each) => each.driver === runtime.driver)
  return driver === undefined
    ? new ProviderUndriven({
        providerId,
        message: `The manifest of ${providerId}${origin} names the driver ${runtime.driver}, which this installation does not have.`
      })
    : Effect.mapError(
        driver.bind(runtime.settings),
        ({ message }) =>
          new ProviderUndriven({
            providerId,
            message: `The driver ${runtime.driver} does not take the settings of ${providerId}${origin}: ${message}`
          })
      )
}

const cannotRun = ({ message }: ProviderUndriven): HarnessFailure =>
  new HarnessFailure({ reason: "executor_unavailable", message, retryable: false })
