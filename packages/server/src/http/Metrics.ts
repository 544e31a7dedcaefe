import { HttpRouter, HttpServerRespondable, HttpServerResponse } from "@effect/platform"
import { ReinsError } from "@reins/core/domain/ReinsError"
import { RequestInvalid } from "@reins/core/domain/RequestInvalid"
import { Database } from "@reins/core/store/Database"
import { Cause, Effect, Exit } from "effect"
import { ValidationFailed } from "./middleware/ErrorEnvelope.js"
import type { Route } from "./Router.js"

/** The upper bounds of the durations that are counted apart, in seconds. */
const buckets = [0.005, 0.025, 0.1, 0.5, 2.5, 10]

/** What was seen of one route and status. */
interface Seen {
  readonly within: Array<number>
  count: number
  seconds: number
}

/**
 * The same routes, each of them measured, and `GET /metrics`, which tells of them in the text format of Prometheus: requests by
 * route and status, those that are being answered (a stream is one for as long as it is open), live jobs by state, and the memory of the
 * process. No id and no name of anybody is in it. A request that meets no route is not counted.
 */
export const metered = Effect.fnUntraced(function* (routes: ReadonlyArray<Route>) {
  const db = yield* Database
  const seen = new Map<string, Seen>()
  const running = new Map<string, number>()

  const observe = (labels: string, seconds: number) => {
    const entry = seen.get(labels) ?? { within: buckets.map(() => 0), count: 0, seconds: 0 }
    entry.count++
    entry.seconds += seconds
    buckets.forEach((bound, index) => {
      if (seconds <= bound) entry.within[index] = (entry.within[index] ?? 0) + 1
    })
    seen.set(labels, entry)
  }

  const measured = ({ handler, method, path, uninterruptible }: Route): Route => {
    const labels = `method="${method}",route="${path.replace(/:(\w+)/g, "{$1}")}"`
    running.set(labels, 0)
    const change = (by: number) => Effect.sync(() => running.set(labels, (running.get(labels) ?? 0) + by))
    const measuredHandler = Effect.suspend(() => {
      const startedAt = performance.now()
      return handler.pipe(
        Effect.flatMap(HttpServerRespondable.toResponse),
        Effect.onExit((exit) =>
          Effect.sync(() => observe(`${labels},status="${statusOf(exit)}"`, (performance.now() - startedAt) / 1000))
        )
      )
    })
    const answer = Effect.acquireUseRelease(
      change(1),
      () => measuredHandler,
      () => change(-1)
    )
    return HttpRouter.makeRoute(method, path, answer, { uninterruptible })
  }

  const page = Effect.gen(function* () {
    const jobs = yield* db.all(db.sql<{ state: string; count: number }>`select state, cast(count(*) as integer) as count
      from jobs where state in ('queued', 'retry_wait', 'running') group by state`)
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
        ["queued", "retry_wait", "running"].map(
          (state) => `{state="${state}"} ${jobs.find((row) => row.state === state)?.count ?? 0}`
        )
      ),
      ...family("process_resident_memory_bytes", "gauge", "Memory of the process.", [` ${process.memoryUsage().rss}`]),
      ...family("process_heap_used_bytes", "gauge", "Memory in use by JavaScript.", [
        ` ${process.memoryUsage().heapUsed}`
      ]),
      ...family("process_uptime_seconds", "gauge", "Since the process began.", [` ${Math.round(process.uptime())}`])
    ]
    return HttpServerResponse.text(`${lines.join("\n")}\n`, { contentType: "text/plain; version=0.0.4; charset=utf-8" })
  })

  return [...routes.map(measured), HttpRouter.makeRoute("GET", "/metrics", page)]
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

const statusOf = (exit: Exit.Exit<HttpServerResponse.HttpServerResponse, unknown>): number => {
  if (Exit.isSuccess(exit)) return exit.value.status
  const error = Cause.squash(exit.cause)
  // What nginx counts for a client that went away first.
  if (Cause.isInterruptedOnly(exit.cause)) return 499
  if (error instanceof ValidationFailed || error instanceof RequestInvalid) return 422
  return error instanceof ReinsError ? error.status : 500
}
