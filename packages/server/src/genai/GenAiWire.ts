import { OtlpSerialization } from "@effect/opentelemetry/OtlpSerialization"
import { Effect, Layer } from "effect"
import { unitLabel } from "./GenAiFigures.js"
import { genAiNames, ownNames } from "./GenAiNames.js"

interface Attributed {
  readonly attributes: ReadonlyArray<{ readonly key: string }>
}

interface WireSpan extends Attributed {
  readonly events: ReadonlyArray<unknown>
  readonly status: object
}

interface WireTraces {
  readonly resourceSpans: ReadonlyArray<{
    readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<WireSpan> }>
  }>
}

interface WireMetrics {
  readonly resourceMetrics: ReadonlyArray<{
    readonly scopeMetrics: ReadonlyArray<{
      readonly metrics: ReadonlyArray<{
        readonly name: string
        readonly histogram?: { readonly dataPoints: ReadonlyArray<Attributed> }
      }>
    }>
  }>
}

/**
 * Writes spans and figures of agents as the conventions want them. The library marks each span that is no error as good, where the conventions leave
 * that open. It calls each failure an interruption, with its stack. And it takes the unit of a figure from a label, which it also sends.
 */
export const conventional = (plain: Layer.Layer<OtlpSerialization>): Layer.Layer<OtlpSerialization> =>
  Layer.provide(Layer.effect(OtlpSerialization, Effect.map(OtlpSerialization, conventionally)), plain)

const conventionally = ({ logs, metrics, traces }: OtlpSerialization["Type"]): OtlpSerialization["Type"] => ({
  logs,
  // Boundary: the library hands on its own forms of traces and figures as unknown.
  traces: (data) => traces(cleanTraces(data as WireTraces)),
  metrics: (data) => metrics(cleanMetrics(data as WireMetrics))
})

const cleanTraces = ({ resourceSpans }: WireTraces): WireTraces => ({
  resourceSpans: resourceSpans.map((resource) => ({
    ...resource,
    scopeSpans: resource.scopeSpans.map((scope) => ({ ...scope, spans: scope.spans.map(cleanSpan) }))
  }))
})

const unset = 0
const error = 2
const ofLibrary: ReadonlySet<string> = new Set(["span.label", "status.interrupted", "code.stacktrace"])

const cleanSpan = (span: WireSpan): WireSpan => {
  const has = (name: string) => span.attributes.some(({ key }) => key === name)
  if (!has(genAiNames.operation) && !has(ownNames.delivery)) return span
  return {
    ...span,
    attributes: span.attributes.filter(({ key }) => !ofLibrary.has(key)),
    events: [],
    status: { code: has(genAiNames.error) ? error : unset }
  }
}

const cleanMetrics = ({ resourceMetrics }: WireMetrics): WireMetrics => ({
  resourceMetrics: resourceMetrics.map((resource) => ({
    ...resource,
    scopeMetrics: resource.scopeMetrics.map((scope) => ({
      ...scope,
      metrics: scope.metrics.map((metric) =>
        metric.histogram === undefined || !metric.name.startsWith("gen_ai.")
          ? metric
          : {
              ...metric,
              histogram: {
                ...metric.histogram,
                dataPoints: metric.histogram.dataPoints.map((point) => ({
                  ...point,
                  attributes: point.attributes.filter(({ key }) => key !== unitLabel)
                }))
              }
            }
      )
    }))
  }))
})
