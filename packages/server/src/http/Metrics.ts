import { liveJobStates } from "@reins/core/domain/Job"
import { JobStore } from "@reins/core/jobs/JobStore"
import { Effect } from "effect"
import { Reply } from "./Reply.js"
import type { Meter, Route } from "./Route.js"

/** The upper bounds of the durations that are counted apart, in seconds. */
const buckets = [0.005, 0.025, 0.1, 0.5, 2.5, 10]

/** The requests of one route and status. */
interface Seen {
  readonly within: Array<number>
  count: number
  seconds: number
}

/**
 * The same routes, each of them measured, and `GET /metrics`, which shows the figures in the text format of Prometheus: requests by
 * route and status, requests that are being answered (an open stream is one), live jobs by state, and the memory of the process. The page
 * holds no id and no name of a person. A request without a route is not counted.
 */
export const metered = Effect.fnUntraced(function* (routes: ReadonlyArray<Route>) {
  const jobs = yield* JobStore
  const seen = new Map<string, Seen>()
  const running = new Map<string, number>()

  const meterOf = ({ method, path }: Route): Meter => {
    const labels = `method="${method}",route="${path.replace(/:(\w+)/g, "{$1}")}"`
    const byStatus = new Map<number, Seen>()
    const seenWith = (status: number): Seen => {
      const known = byStatus.get(status)
      if (known !== undefined) return known
      const entry: Seen = { within: buckets.map(() => 0), count: 0, seconds: 0 }
      byStatus.set(status, entry)
      seen.set(`${labels},status="${status}"`, entry)
      return entry
    }
    let open = 0
    running.set(labels, open)
    return {
      began: () => {
        running.set(labels, ++open)
      },
      ended: (status, seconds) => {
        running.set(labels, --open)
        const entry = seenWith(status)
        entry.count++
        entry.seconds += seconds
        buckets.forEach((bound, index) => {
          if (seconds <= bound) entry.within[index] = (entry.within[index] ?? 0) + 1
        })
      }
    }
  }

  const page = Effect.gen(function* () {
    const live = yield* jobs.countLive
    const lines = [
      ...family(
        "reins_http_request_duration_seconds",
        "histogram",
        "How long requests took.",
        [...seen].flatMap(histogram)
      ),
      ...family(
        "reins_http_requests_in_progress",
        "gauge",
        "Requests that are being answered; an open stream is one.",
        [...running].map(([labels, count]) => `{${labels}} ${count}`)
      ),
      ...family(
        "reins_jobs",
        "gauge",
        "Jobs that have not ended.",
        liveJobStates.map((state) => `{state="${state}"} ${live.get(state) ?? 0}`)
      ),
      ...family("process_resident_memory_bytes", "gauge", "Memory of the process.", [` ${process.memoryUsage().rss}`]),
      ...family("process_heap_used_bytes", "gauge", "Memory in use by JavaScript.", [
        ` ${process.memoryUsage().heapUsed}`
      ]),
      ...family("process_uptime_seconds", "gauge", "Since the process began.", [` ${Math.round(process.uptime())}`])
    ]
    return new Reply(200, `${lines.join("\n")}\n`, { "content-type": "text/plain; version=0.0.4; charset=utf-8" })
  })

  const metrics: Route = { method: "GET", path: "/metrics", mutates: false, answer: () => page }
  return [...routes.map((route) => ({ ...route, meter: meterOf(route) })), metrics]
})

const family = (name: string, type: "gauge" | "histogram", help: string, samples: ReadonlyArray<string>) => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
  ...samples.map((sample) => `${name}${sample}`)
]

const histogram = ([labels, { count, seconds, within }]: readonly [string, Seen]): ReadonlyArray<string> => [
  ...buckets.map((bound, index) => `_bucket{${labels},le="${bound}"} ${within[index] ?? 0}`),
  `_bucket{${labels},le="+Inf"} ${count}`,
  `_sum{${labels}} ${seconds}`,
  `_count{${labels}} ${count}`
]
