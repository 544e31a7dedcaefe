import { Executors } from "@reins/core/executor/Executors"
import { Placement } from "@reins/core/placement/Placement"
import { executorSuite } from "@reins/testing/executor/ExecutorSuite"
import { Effect, Layer } from "effect"

const builtIn = await Effect.flatMap(Executors, ({ get, list }) =>
  Effect.forEach(list, ({ backend }) => get(backend))
).pipe(Effect.provide(Layer.provide(Executors.layer, Placement.layerSingle)), Effect.runPromise)

for (const executor of builtIn) executorSuite(executor.backend, Effect.succeed(executor))
