import { Cause, Effect, Exit, Runtime } from "effect"
import type { TypedEvent } from "../EventStream.js"
import { CallAnswers, type CallableFunction, type CallableFunctions, type FunctionCall } from "../Functions.js"
import type { ReinsClientError } from "../ReinsClientError.js"
import type { Transport } from "../Transport.js"
import { clockOf, fromPromise } from "./EffectMethods.js"

/** A function that agents call, as an effect. */
export interface EffectFunction extends Omit<CallableFunction, "run"> {
  /**
   * Gives the answer as JSON. Its failure is told to the model, and a failure with `later` leaves the call to another program. It is interrupted when
   * the call is withdrawn.
   */
  // Boundary: the schema says what the input is, which the compiler cannot see.
  // biome-ignore lint/suspicious/noExplicitAny: a function names the type of its own input
  readonly run: (input: any, call: FunctionCall) => Effect.Effect<unknown, unknown>
}

/** Functions by their names. */
export type EffectFunctions = Readonly<Record<string, EffectFunction>>

/** The functions as promises. They run with what the fiber has that sent their message. */
export const callable = (tools: EffectFunctions, runtime: Runtime.Runtime<never>): CallableFunctions =>
  Object.fromEntries(
    Object.entries(tools).map(([name, { run, ...tool }]) => [
      name,
      {
        ...tool,
        run: async (input: unknown, call: FunctionCall) => {
          const work = Effect.suspend(() => run(input, call))
          const exit = await Runtime.runPromiseExit(runtime)(work, { signal: call.signal })
          if (Exit.isSuccess(exit)) return exit.value
          throw Cause.squash(exit.cause)
        }
      }
    ])
  )

/** Answers calls for as long as somebody follows the turn. Those who follow it together answer each call once. */
export class FollowedCalls {
  private answers: CallAnswers | undefined
  private followers = 0

  constructor(
    private readonly transport: Transport,
    private readonly tools: CallableFunctions,
    private readonly runtime: Runtime.Runtime<never>
  ) {}

  /** Takes in an event of the turn. */
  readonly hear = (event: TypedEvent): void => {
    if (event.type === "turn.action_required" || event.type === "turn.action_resolved")
      this.answers?.take(event.payload.interaction)
  }

  /** Follows the turn until the scope closes. Gives the effect that fails when a call cannot be answered for a reason that no other try can mend. */
  readonly follow = Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        this.followers += 1
        this.answers ??= new CallAnswers(this.transport, this.tools, { clock: clockOf(this.runtime) })
        return this.answers
      }),
      () =>
        Effect.sync(() => {
          this.followers -= 1
          if (this.followers > 0) return
          this.answers?.close()
          this.answers = undefined
        })
    ),
    (answers): Effect.Effect<never, ReinsClientError> => fromPromise(() => answers.failed)
  )
}
