import { Context, Effect, Layer } from "effect"

/**
 * As `Layer.provideMerge`, which makes and remembers five layers in the place of this one. A core has a hundred services, so that the
 * difference is a part of its start that can be seen.
 */
export const onTopOf =
  <B, EB, RB>(below: Layer.Layer<B, EB, RB>) =>
  <A, E, R>(above: Layer.Layer<A, E, R>): Layer.Layer<A | B, E | EB, RB | Exclude<R, B>> =>
    Layer.scopedContext(
      Effect.gen(function* () {
        const made = yield* Layer.CurrentMemoMap
        const scope = yield* Effect.scope
        const ground = yield* Layer.buildWithMemoMap(below, made, scope)
        return Context.merge(ground, yield* Effect.provide(Layer.buildWithMemoMap(above, made, scope), ground))
      })
    )

/** As `Layer.mergeAll`, which makes each layer in a fiber of its own. That pays only where one of them waits for something. */
export const oneByOne = <Layers extends ReadonlyArray<Layer.Layer<never, unknown, unknown>>>(...layers: Layers) =>
  Layer.scopedContext(
    Effect.gen(function* () {
      const made = yield* Layer.CurrentMemoMap
      const scope = yield* Effect.scope
      const contexts = yield* Effect.forEach(layers, (layer) => Layer.buildWithMemoMap(layer, made, scope))
      return Context.mergeAll(...contexts)
    })
    // Boundary: a list does not tell the compiler which of its layers gives, needs and fails with which.
  ) as Layer.Layer<
    { [K in keyof Layers]: Layer.Layer.Success<Layers[K]> }[number],
    { [K in keyof Layers]: Layer.Layer.Error<Layers[K]> }[number],
    { [K in keyof Layers]: Layer.Layer.Context<Layers[K]> }[number]
  >
