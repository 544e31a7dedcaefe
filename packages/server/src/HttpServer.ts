import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Duration, Effect, Layer } from "effect"
import { EventStreams } from "./EventStreams.js"
import { consoleRoutes } from "./http/ConsoleRoutes.js"
import { acpRoutes } from "./http/doors/AcpRoutes.js"
import { metricsRoute, withMeters } from "./http/Metrics.js"
import { Authentication } from "./http/middleware/Authentication.js"
import { RateLimit } from "./http/middleware/RateLimit.js"
import { routesAt } from "./http/Routes.js"
import { type ListenOptions, Server } from "./Server.js"
import { Shutdown } from "./Shutdown.js"

/** The settings of the HTTP service. Each has a default. The limits, including that of requests a minute, come from `CoreConfig`. */
export interface HttpServerOptions extends Partial<ListenOptions> {
  /** False leaves the console at `/ui` out, and the way to it from `/`. The default is true. */
  readonly console?: boolean
  /** True serves editors at `/acp`, over HTTP and WebSocket. The default is false. */
  readonly acp?: boolean
  /** True serves `GET /metrics`, which requires no credentials. The default is false. */
  readonly metrics?: boolean
  /** True to keep the figures of requests also without `/metrics`, because they are sent elsewhere. */
  readonly measured?: boolean
  /** The time between two beats of an event stream, at most the default of 15 seconds. A client that misses three connects again. */
  readonly heartbeat?: Duration.DurationInput
}

/**
 * Serves the API over HTTP from a core that is there, as a layer of one's own composes it, until the scope closes:
 *
 *     import * as Embedded from "@reins/core/Embedded"
 *     import { HttpServer, Server } from "@reins/server"
 *
 *     const reins = HttpServer.layer({ port: 7117 }).pipe(
 *       Layer.provideMerge(Embedded.layer({ dataDir: "./reins-data" }, { executors: myExecutors }))
 *     )
 *     Layer.launch(reins)
 *
 * It listens on 127.0.0.1, port 7117, unless told otherwise; port 0 takes any that is free, and `Server` says which. Fails with
 * `ListenError` when the port cannot be had. When the scope closes, requests that have begun are finished first.
 */
export const layer = (options: HttpServerOptions = {}) =>
  Layer.unwrapEffect(
    Effect.map(CoreConfig, ({ limits, publicUrl: publicUrlOfCore }) => {
      const {
        acp = false,
        console = true,
        heartbeat = "15 seconds",
        measured = false,
        metrics = false,
        ...listen
      } = options
      const publicUrl = options.publicUrl ?? new URL(publicUrlOfCore)
      const routes = routesAt(publicUrl)
      const withConsole = console
        ? Effect.zipWith(routes, consoleRoutes(publicUrl), (all, page) => [...all, ...page])
        : routes
      const served = acp
        ? Effect.zipWith(withConsole, acpRoutes(publicUrl), (all, door) => [...all, ...door])
        : withConsole
      const withMetrics = Effect.zipWith(served, metricsRoute, (all, page) => [...withMeters(all), page])
      return Server.layer(metrics ? withMetrics : measured ? Effect.map(served, withMeters) : served, {
        host: "127.0.0.1",
        port: 7117,
        trustedProxies: [],
        grace: "5 seconds",
        ...listen,
        takesUpgrades: acp,
        publicUrl
      }).pipe(
        Layer.provide(
          EventStreams.layer({
            perSession: limits.streamsPerSession,
            heartbeat: Duration.decode(heartbeat),
            patience: Duration.times(heartbeat, 2)
          })
        ),
        Layer.provide(Authentication.layer(publicUrl)),
        Layer.provide(
          Layer.merge(
            limits.requestsPerMinute === null ? RateLimit.layerOff : RateLimit.layerOf(limits.requestsPerMinute),
            Shutdown.layer
          )
        )
      )
    })
  )
