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

type SuccessOf<L> = L extends Layer.Layer<infer A, infer _E, infer _R> ? A : never
type ErrorOf<L> = L extends Layer.Layer<infer _A, infer E, infer _R> ? E : never
type ContextOf<L> = L extends Layer.Layer<infer _A, infer _E, infer R> ? R : never

/** The things that a layer needs and gives itself. It gets them from no layer before it. */
type OwnNeeds<L> = L extends Layer.Layer<infer A, infer _E, infer R> ? Extract<R, A> : never

/** Puts each layer on top of all that stand before it in the list, and gives what any of them gives. */
export const inOrder = <L extends Layer.Layer<never, unknown, unknown>>(layers: ReadonlyArray<L>) =>
  Layer.scopedContext(
    Effect.gen(function* () {
      const made = yield* Layer.CurrentMemoMap
      const scope = yield* Effect.scope
      let ground = Context.unsafeMake<unknown>(new Map())
      for (const layer of layers)
        ground = Context.merge(ground, yield* Effect.provide(Layer.buildWithMemoMap(layer, made, scope), ground))
      return ground
    })
    // Boundary: a list does not tell the compiler what its layers give to those behind them. Floors have each need met from below.
  ) as Layer.Layer<SuccessOf<L>, ErrorOf<L>, Exclude<ContextOf<L>, SuccessOf<L>> | OwnNeeds<L>>
