import { monitorEventLoopDelay } from "node:perf_hooks"
import * as Otlp from "@effect/opentelemetry/Otlp"
import * as OtlpSerialization from "@effect/opentelemetry/OtlpSerialization"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { Effect, Layer, Schedule } from "effect"
import packageJson from "../package.json" with { type: "json" }
import { eventLoopLag } from "./Figures.js"
import type { OtlpSettings } from "./OtlpSettings.js"

/** Traces, figures and logs over HTTP, in batches. A collector that is away is asked again a minute later, and nobody waits for it. */
export const layer = ({ endpoint, genAi, headers, protocol, serviceName }: OtlpSettings): Layer.Layer<never> => {
  const written = protocol === "http/json" ? OtlpSerialization.layerJson : OtlpSerialization.layerProtobuf
  return Layer.merge(
    Otlp.layer({
      baseUrl: endpoint,
      headers,
      resource: { serviceName, serviceVersion: packageJson.version },
      shutdownTimeout: "1 second"
    }).pipe(Layer.provide(genAi === undefined ? written : conventionalOf(written))),
    watchEventLoop
  ).pipe(Layer.provide(FetchHttpClient.layer))
}

/** Loads what agents need only where somebody has asked for it. */
const conventionalOf = (written: Layer.Layer<OtlpSerialization.OtlpSerialization>) =>
  Layer.unwrapEffect(
    Effect.map(
      Effect.promise(() => import("./genai/GenAiWire.js")),
      ({ conventional }) => conventional(written)
    )
  )

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
