import { Context, DefaultServices, Effect, Tracer, Utils } from "effect"

type Body = (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown, unknown>
type Wrap = (body: Body, ...pipeables: ReadonlyArray<unknown>) => Body

const noTracer = Context.get(DefaultServices.liveServices, Tracer.Tracer)

/**
 * `Effect.fn`, for a function whose calls are spans of the given name. A call makes no span when the runtime has no tracer, because
 * `Effect.fn` costs 10 us a call even then.
 */
// Boundary: `Effect.fn` has an overload for each number of pipeables, which are passed on as they come.
export const fn = ((name: string): Wrap =>
  (body, ...pipeables) => {
    const traced = (Effect.fn(name) as unknown as Wrap)(body, ...pipeables)
    const untraced = Utils.isGeneratorFunction(body)
      ? (Effect.fnUntraced as unknown as Wrap)(body, ...pipeables)
      : pipeables.length === 0
        ? body
        : traced
    return (...args) =>
      Effect.withFiberRuntime((fiber) => (fiber.currentTracer === noTracer ? untraced : traced)(...args))
  }) as unknown as typeof Effect.fn

/** An effect as a span of the given name. It is the effect itself when the runtime has no tracer. */
export const traced = <A, E, R>(name: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) => (fiber.currentTracer === noTracer ? effect : Effect.withSpan(effect, name)))
