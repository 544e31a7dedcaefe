import { monitorEventLoopDelay } from "node:perf_hooks"
import * as Otlp from "@effect/opentelemetry/Otlp"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { Effect, Layer, Schedule } from "effect"
import packageJson from "../package.json" with { type: "json" }
import { eventLoopLag } from "./Figures.js"
import type { OtlpSettings } from "./OtlpSettings.js"

/** Traces, figures and logs over HTTP, in batches. A collector that is away is asked again a minute later, and nobody waits for it. */
export const layer = ({ endpoint, headers, protocol, serviceName }: OtlpSettings): Layer.Layer<never> => {
  const exporter = protocol === "http/json" ? Otlp.layerJson : Otlp.layerProtobuf
  return Layer.merge(
    exporter({
      baseUrl: endpoint,
      headers,
      resource: { serviceName, serviceVersion: packageJson.version },
      shutdownTimeout: "1 second"
    }),
    watchEventLoop
  ).pipe(Layer.provide(FetchHttpClient.layer))
}

/** Milliseconds between two looks at the clock. */
const resolution = 20

const watchEventLoop = Layer.scopedDiscard(
  Effect.gen(function* () {
    const delay = yield* Effect.acquireRelease(
      Effect.sync(() => monitorEventLoopDelay({ resolution })),
      (running) => Effect.sync(() => running.disable())
    )
    delay.enable()
    const note = Effect.sync(() => {
      for (const [quantile, percentile] of [
        ["0.5", 50],
        ["0.99", 99],
        ["1", 100]
      ] as const) {
        // A look that comes in time counts with the time between two of them.
        const lateMs = Math.max(0, delay.percentile(percentile) / 1e6 - resolution)
        eventLoopLag({ quantile }).unsafeUpdate(lateMs / 1000, [])
      }
      delay.reset()
    })
    yield* Effect.forkScoped(Effect.repeat(note, Schedule.spaced("10 seconds")))
  })
)
