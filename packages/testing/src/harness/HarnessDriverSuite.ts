import { assert, describe, it } from "@effect/vitest"
import type { Executor } from "@reins/machine/executor/Executor"
import type { HarnessDriver } from "@reins/machine/harness/HarnessDriver"
import type { TurnInput } from "@reins/machine/harness/TurnInput"
import { Effect, type Scope, Stream } from "effect"
import { said, turnOf } from "./Turns.js"

/** A driver, with turns on an agent that it drives. */
export interface HarnessDriverSubject {
  readonly driver: HarnessDriver
  /** The settings that the agent's manifest has. */
  readonly settings: unknown
  readonly executor: Executor
  /** A turn in which the agent says `Hello.` and ends. */
  readonly talking: Effect.Effect<TurnInput, never, Scope.Scope>
  /** A turn in which the agent never ends by itself. */
  readonly endless: Effect.Effect<TurnInput, never, Scope.Scope>
}

/** The promises of `HarnessDriver`, for one driver. */
export const harnessDriverSuite = ({ driver, endless, executor, settings, talking }: HarnessDriverSubject): void => {
  describe(`the driver ${driver.driver}`, () => {
    it.effect("refuses settings that are none of its own", () =>
      Effect.gen(function* () {
        for (const given of [undefined, null, "text", { unknown: true }])
          assert.strictEqual((yield* Effect.exit(driver.bind(given)))._tag, "Failure", JSON.stringify(given))
      })
    )

    it.scopedLive("tells a turn in its order: ready, the native session, what was said, and the end", () =>
      Effect.gen(function* () {
        const run = turnOf(yield* driver.bind(settings))
        const events = [...(yield* Stream.runCollect(run(yield* talking)))]
        assert.deepStrictEqual(
          events.map(({ _tag }) => _tag).filter((tag) => tag !== "text" && tag !== "usage" && tag !== "reasoning"),
          ["ready", "native_session", "ended"]
        )
        assert.strictEqual(said(events), "Hello.")
        assert.deepInclude(events.at(-1), { _tag: "ended", stop_reason: "completed" })
      })
    )

    it.scopedLive("ends a turn that is cancelled as cancelled, and leaves nothing of it", () =>
      Effect.gen(function* () {
        const run = turnOf(yield* driver.bind(settings))
        const input = yield* endless
        const begun = yield* Effect.makeLatch()
        const events = yield* run({ ...input, cancel: begun.await }).pipe(
          Stream.tap(({ _tag }) => (_tag === "native_session" ? begun.open : Effect.void)),
          Stream.runCollect
        )
        assert.deepInclude([...events].at(-1), { _tag: "ended", stop_reason: "cancelled" })
        assert.deepStrictEqual(yield* executor.reap(input.leaseId), [])
      })
    )

    it.scopedLive("leaves nothing of a turn whose stream nobody reads any more", () =>
      Effect.gen(function* () {
        const run = turnOf(yield* driver.bind(settings))
        const input = yield* endless
        yield* Stream.runDrain(Stream.takeUntil(run(input), ({ _tag }) => _tag === "native_session"))
        assert.deepStrictEqual(yield* executor.reap(input.leaseId), [])
      })
    )
  })
}
