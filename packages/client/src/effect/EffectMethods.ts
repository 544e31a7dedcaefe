import { Effect, Clock as EffectClock, Random, Runtime } from "effect"
import type { Circumstances, Clock } from "../Clock.js"
import type { Methods } from "../generated/Methods.js"
import {
  ReinsApiError,
  type ReinsClientError,
  ReinsConnectionError,
  ReinsValidationError
} from "../ReinsClientError.js"
import { methodsBy } from "../Route.js"
import type { MutationOptions, Transport } from "../Transport.js"

/** The settings of one call, in which it differs from the others of its client. An interruption ends it. */
export type CallOptions = Omit<MutationOptions, "signal">

/** The same as an effect. Each time that it runs is a call of its own, with an idempotency key of its own. */
export type EffectMethod<Method> = Method extends (...given: infer Given) => Promise<infer Answer>
  ? undefined extends Given[0]
    ? (input?: Given[0], options?: CallOptions) => Effect.Effect<Answer, ReinsClientError>
    : (input: Given[0], options?: CallOptions) => Effect.Effect<Answer, ReinsClientError>
  : never

/** Every operation of the API, by group. */
export type EffectMethods = {
  readonly [Group in keyof Methods]: {
    readonly [Name in keyof Methods[Group]]: EffectMethod<Methods[Group][Name]>
  }
}

export const effectMethods = (transport: Transport): EffectMethods =>
  methodsBy<EffectMethods>(
    (route) =>
      (input: object = {}, options: CallOptions = {}) =>
        fromPromise((circumstances) => transport.call(route, input, { ...options, ...circumstances })).pipe(
          Effect.withSpan(`Reins.${route.name}`, { kind: "client", captureStackTrace: false })
        )
  )

/** A promise of the client as an effect: on the clock of the fiber that runs it, and ended by an interruption. */
export const fromPromise = <A>(
  work: (circumstances: Circumstances) => Promise<A>
): Effect.Effect<A, ReinsClientError> =>
  Effect.flatMap(Effect.runtime<never>(), (runtime) =>
    Effect.promise((signal) => work({ clock: clockOf(runtime), signal }))
  ).pipe(Effect.catchAllDefect((error) => (isClientError(error) ? Effect.fail(error) : Effect.die(error))))

const isClientError = (error: unknown): error is ReinsClientError =>
  error instanceof ReinsApiError || error instanceof ReinsValidationError || error instanceof ReinsConnectionError

/** The forms with one argument, because the oldest versions of Effect that the package takes have no others. */
export const clockOf = (runtime: Runtime.Runtime<never>): Clock => ({
  now: () => Runtime.runSync(runtime)(EffectClock.currentTimeMillis),
  sleep: (milliseconds, signal) =>
    Runtime.runPromise(runtime)(Effect.sleep(milliseconds), signal === undefined ? {} : { signal }).catch(() => {}),
  random: () => Runtime.runSync(runtime)(Random.next)
})
