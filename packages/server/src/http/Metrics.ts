import { JobStore } from "@reins/core/jobs/JobStore"
import { WebhookStore } from "@reins/core/webhooks/WebhookStore"
import { Snapshots } from "@reins/core/worktrees/snapshots/Snapshots"
import { Effect } from "effect"
import * as Figures from "../Figures.js"
import { Reply } from "./Reply.js"
import type { Meter, Route } from "./Route.js"

/** The same routes, each of them measured. A request without a route is not counted. */
export const withMeters = (routes: ReadonlyArray<Route>): ReadonlyArray<Route> =>
  routes.map((route) => ({ ...route, meter: meterOf(route) }))

const meterOf = ({ method, path }: Route): Meter => {
  const labels = { method, route: path.replace(/:(\w+)/g, "{$1}") }
  const open = Figures.requestsInProgress(labels)
  const byStatus = new Map<number, ReturnType<typeof Figures.requestDuration>>()
  return {
    began: () => open.unsafeModify(1, []),
    ended: (status, seconds) => {
      open.unsafeModify(-1, [])
      let duration = byStatus.get(status)
      if (duration === undefined) {
        duration = Figures.requestDuration({ ...labels, status: String(status) })
        byStatus.set(status, duration)
      }
      duration.unsafeUpdate(seconds, [])
    }
  }
}

/**
 * `GET /metrics` shows the figures in the text format of Prometheus, with those of the process, the live jobs by kind and state, and the
 * deliveries to webhook endpoints that wait. The page holds no
 * id and no name of a person. What writes it is loaded with the first request, which is also from when on the event loop is watched.
 */
export const metricsRoute: Effect.Effect<Route, never, JobStore | Snapshots | WebhookStore> = Effect.gen(function* () {
  const jobs = yield* JobStore
  const snapshots = yield* Snapshots
  const webhooks = yield* WebhookStore
  const page = Effect.gen(function* () {
    const { contentType, write } = yield* Effect.promise(() => import("./PrometheusPage.js"))
    const unsealed = snapshots.isKept ? yield* snapshots.unsealed : null
    const live = { jobs: yield* jobs.countLive, deliveries: yield* webhooks.countPending, unsealed }
    const text = yield* Effect.promise(() => write(live))
    return new Reply(200, text, { "content-type": contentType })
  })
  return { method: "GET", path: "/metrics", mutates: false, answer: () => page }
})
