import { toMillis } from "@reins/base/domain/Timestamp"
import type { JobState } from "@reins/core/jobs/Job"
import type { WebhookEndpointState } from "@reins/core/webhooks/Webhook"
import type { Unsealed } from "@reins/core/worktrees/snapshots/SnapshotStore"
import { Metric, type MetricPair, MetricState } from "effect"
import { AggregatorRegistry, collectDefaultMetrics, Gauge, Registry } from "prom-client"

/** The media type of the page, with the version of its format. */
export const contentType = Registry.PROMETHEUS_CONTENT_TYPE

/** The figures of the process. There is one registry, because each would watch the event loop and the garbage collector anew. */
const ofProcess = new Registry()
collectDefaultMetrics({ register: ofProcess })
const gaugeOf = (name: string, help: string, read: () => number) =>
  new Gauge({
    name,
    help,
    registers: [ofProcess],
    collect() {
      this.set(read())
    }
  })
gaugeOf("process_heap_used_bytes", "Memory in use by JavaScript.", () => process.memoryUsage().heapUsed)
gaugeOf("process_uptime_seconds", "Since the process began.", () => Math.round(process.uptime()))

/** The numbers of what waits or runs in the whole installation. */
export interface Live {
  readonly jobs: ReadonlyArray<{ readonly kind: string; readonly state: JobState; readonly count: number }>
  /** Deliveries to webhook endpoints, by the state of these. */
  readonly deliveries: ReadonlyArray<{ readonly state: WebhookEndpointState; readonly count: number }>
  /** The sessions that wait for a snapshot; null where none are kept. */
  readonly unsealed: Unsealed | null
}

/** The page, with what waits and runs at this moment. */
export const write = async (live: Live): Promise<string> => {
  const ofMoment = new Registry()
  if (live.unsealed !== null) writeUnsealed(ofMoment, live.unsealed)
  const jobs = new Gauge({
    name: "reins_jobs",
    help: "Jobs that have not ended, by kind and state.",
    labelNames: ["kind", "state"],
    registers: [ofMoment]
  })
  for (const { count, kind, state } of live.jobs) jobs.set({ kind, state }, count)
  const deliveries = new Gauge({
    name: "reins_webhook_deliveries_pending",
    help: "Deliveries that are still to get through, by the state of their webhook endpoint.",
    labelNames: ["endpoint"],
    registers: [ofMoment]
  })
  for (const { count, state } of live.deliveries) deliveries.set({ endpoint: state }, count)
  const ofService = AggregatorRegistry.aggregate([families(Metric.unsafeSnapshot())])
  const pages = await Promise.all([ofService.metrics(), ofMoment.metrics(), ofProcess.metrics()])
  return pages.join("\n")
}

const writeUnsealed = (registry: Registry, { sessions, since }: Unsealed): void => {
  const registers = [registry]
  const help = "Sessions that have changed since their newest snapshot."
  new Gauge({ name: "reins_sessions_unsealed", help, registers }).set(sessions)
  const age = since === null ? 0 : Math.max(0, (Date.now() - toMillis(since)) / 1000)
  const ageHelp = "The age of the oldest change that is in no snapshot; 0 when every change is in one."
  new Gauge({ name: "reins_sessions_unsealed_seconds", help: ageHelp, registers }).set(age)
}

interface Sample {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

interface Family {
  readonly name: string
  readonly help: string
  readonly type: "counter" | "gauge" | "histogram"
  readonly aggregator: "sum"
  readonly values: Array<Sample>
}

/** The figures in the form in which the library takes those of other processes. Those that Effect keeps of itself are left out. */
const families = (pairs: Iterable<MetricPair.MetricPair.Untyped>): ReadonlyArray<Family> => {
  const byName = new Map<string, Family>()
  for (const { metricKey, metricState } of pairs) {
    const { description, name, tags } = metricKey
    const read = name.startsWith("reins_") ? readState(name, metricState) : undefined
    if (read === undefined) continue
    const help = description._tag === "Some" ? description.value : name
    const family = byName.get(name) ?? { name, help, type: read.type, aggregator: "sum", values: [] }
    byName.set(name, family)
    const labels = Object.fromEntries(tags.map(({ key, value }) => [key, value]))
    family.values.push(...read.samples.map((sample) => ({ ...sample, labels: { ...labels, ...sample.labels } })))
  }
  return [...byName.values()]
}

const readState = (
  name: string,
  state: MetricState.MetricState.Untyped
): { readonly type: Family["type"]; readonly samples: ReadonlyArray<Sample> } | undefined => {
  if (MetricState.isCounterState(state)) {
    return { type: "counter", samples: [{ labels: {}, value: Number(state.count) }] }
  }
  if (MetricState.isGaugeState(state)) return { type: "gauge", samples: [{ labels: {}, value: Number(state.value) }] }
  if (!MetricState.isHistogramState(state)) return undefined
  const buckets = state.buckets.map(([bound, count]) => ({
    metricName: `${name}_bucket`,
    labels: { le: bound === Number.POSITIVE_INFINITY ? "+Inf" : String(bound) },
    value: count
  }))
  const ends = [
    { metricName: `${name}_sum`, labels: {}, value: state.sum },
    { metricName: `${name}_count`, labels: {}, value: state.count }
  ]
  return { type: "histogram", samples: [...buckets, ...ends] }
}
