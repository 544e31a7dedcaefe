import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { Effect } from "effect"
import protobuf from "protobufjs"

/** A span as a collector has received it. */
export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty for the first span of a trace. */
  readonly parentSpanId: string
  readonly name: string
  readonly kind: "internal" | "server" | "client" | "producer" | "consumer" | "unspecified"
  readonly startNanos: bigint
  readonly endNanos: bigint
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events: number
  readonly status: "unset" | "ok" | "error"
  readonly links: ReadonlyArray<{ readonly traceId: string; readonly spanId: string }>
}

/** The newest values of a histogram with one set of attributes. */
export interface CollectedHistogram {
  readonly name: string
  readonly unit: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly bounds: ReadonlyArray<number>
  readonly count: number
  readonly sum: number
}

export interface OtlpCollector {
  readonly endpoint: string
  readonly spans: ReadonlyArray<CollectedSpan>
  readonly histograms: ReadonlyMap<string, CollectedHistogram>
  /** Everything that was received, decoded, as one text. */
  readonly everything: () => string
  /** The content types of what was received. */
  readonly forms: ReadonlySet<string>
}

/** The messages of OTLP, for the library of others that reads them. */
const messages = (() => {
  const root = new protobuf.Root()
  root.resolvePath = (_, target) => join(import.meta.dirname, "protos", target)
  const collector = "opentelemetry/proto/collector"
  root.loadSync(["trace", "metrics", "logs"].map((signal) => `${collector}/${signal}/v1/${signal}_service.proto`))
  const of = (signal: string, name: string) =>
    root.lookupType(`opentelemetry.proto.collector.${signal}.v1.Export${name}ServiceRequest`)
  return { traces: of("trace", "Trace"), metrics: of("metrics", "Metrics"), logs: of("logs", "Logs") }
})()

type Signal = keyof typeof messages

/** A collector that takes both forms of OTLP over HTTP, until the scope closes. */
export const otlpCollector = Effect.acquireRelease(
  Effect.promise(async () => {
    const spans: Array<CollectedSpan> = []
    const histograms = new Map<string, CollectedHistogram>()
    const texts: Array<string> = []
    const forms = new Set<string>()
    const server = createServer(async (request, response) => {
      const signal = /^\/v1\/(traces|metrics|logs)$/.exec(request.url ?? "")?.[1] as Signal | undefined
      if (signal === undefined) return void response.writeHead(404).end()
      const form = request.headers["content-type"] ?? ""
      forms.add(form)
      try {
        const body = await bodyOf(request)
        const data = form === "application/x-protobuf" ? decoded(signal, body) : JSON.parse(body.toString("utf8"))
        texts.push(JSON.stringify(data))
        if (signal === "traces") spans.push(...spansIn(data))
        if (signal === "metrics") for (const one of histogramsIn(data)) histograms.set(keyOf(one), one)
        response.writeHead(200, { "content-type": form }).end(form === "application/json" ? "{}" : "")
      } catch (failure) {
        texts.push(`unreadable: ${failure}`)
        response.writeHead(400).end()
      }
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const collector: OtlpCollector = { endpoint, spans, histograms, forms, everything: () => texts.join("\n") }
    return { collector, server }
  }),
  ({ server }) => Effect.sync(() => server.close())
).pipe(Effect.map(({ collector }) => collector))

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => {
  const pieces: Array<Buffer> = []
  for await (const piece of request) pieces.push(piece)
  return Buffer.concat(pieces)
}

const decoded = (signal: Signal, body: Buffer): unknown => {
  const type = messages[signal]
  return type.toObject(type.decode(body), { longs: String, bytes: String, defaults: false })
}

interface WireValue {
  readonly stringValue?: string
  readonly boolValue?: boolean
  readonly intValue?: string | number
  readonly doubleValue?: number
  readonly arrayValue?: { readonly values?: ReadonlyArray<WireValue> }
}

type WireAttributes = ReadonlyArray<{ readonly key: string; readonly value: WireValue }> | undefined

interface WireIds {
  readonly traceId: string
  readonly spanId: string
}

interface WireSpan extends WireIds {
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes?: WireAttributes
  readonly events?: ReadonlyArray<unknown>
  readonly status?: { readonly code?: number }
  readonly links?: ReadonlyArray<WireIds>
}

interface WireMetric {
  readonly name: string
  readonly unit: string
  readonly histogram?: {
    readonly dataPoints?: ReadonlyArray<{
      readonly attributes?: WireAttributes
      readonly explicitBounds: ReadonlyArray<number>
      readonly count: string | number
      readonly sum: number
    }>
  }
}

interface WireTraces {
  readonly resourceSpans: ReadonlyArray<{
    readonly scopeSpans: ReadonlyArray<{ readonly spans?: ReadonlyArray<WireSpan> }>
  }>
}

interface WireMetrics {
  readonly resourceMetrics: ReadonlyArray<{
    readonly scopeMetrics: ReadonlyArray<{ readonly metrics?: ReadonlyArray<WireMetric> }>
  }>
}

const kinds = ["unspecified", "internal", "server", "client", "producer", "consumer"] as const
const statuses = ["unset", "ok", "error"] as const

// Boundary: OTLP has these forms. A message of another form fails the test that reads it.
const spansIn = (data: unknown): ReadonlyArray<CollectedSpan> =>
  (data as WireTraces).resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans ?? []))
    .map((span) => ({
      ...idsOf(span),
      parentSpanId: hexOf(span.parentSpanId ?? ""),
      name: span.name,
      kind: kinds[span.kind] ?? "unspecified",
      startNanos: BigInt(span.startTimeUnixNano),
      endNanos: BigInt(span.endTimeUnixNano),
      attributes: attributesOf(span.attributes),
      events: span.events?.length ?? 0,
      status: statuses[span.status?.code ?? 0] ?? "unset",
      links: (span.links ?? []).map(idsOf)
    }))

const histogramsIn = (data: unknown): ReadonlyArray<CollectedHistogram> =>
  (data as WireMetrics).resourceMetrics
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics ?? []))
    .flatMap(({ histogram, name, unit }) =>
      (histogram?.dataPoints ?? []).map((point) => ({
        name,
        unit,
        attributes: attributesOf(point.attributes),
        bounds: point.explicitBounds,
        count: Number(point.count),
        sum: point.sum
      }))
    )

const keyOf = ({ attributes, name }: CollectedHistogram): string => `${name} ${JSON.stringify(attributes)}`

const idsOf = ({ spanId, traceId }: WireIds): WireIds => ({ traceId: hexOf(traceId), spanId: hexOf(spanId) })

/** Ids are in hex in JSON, and the library gives bytes in base64. */
const hexOf = (id: string): string =>
  /^(?:[0-9a-f]{16}|[0-9a-f]{32}|)$/.test(id) ? id : Buffer.from(id, "base64").toString("hex")

const attributesOf = (attributes: WireAttributes): Readonly<Record<string, unknown>> =>
  Object.fromEntries((attributes ?? []).map(({ key, value }) => [key, valueOf(value)]))

const valueOf = (value: WireValue): unknown => {
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(valueOf)
  if (value.intValue !== undefined) return Number(value.intValue)
  return value.stringValue ?? value.boolValue ?? value.doubleValue
}
