import { createServer } from "node:net"
import { Command } from "@effect/cli"
import * as Core from "@reins/core/Core"
import { Accounts } from "@reins/core/identity/Accounts"
import { Duration, Effect, Layer, Logger } from "effect"
import type { Config } from "../Config.js"
import * as HttpServer from "../HttpServer.js"
import * as Observation from "../Observation.js"
import { type ListenOptions, Server } from "../Server.js"
import * as Telemetry from "../Telemetry.js"
import * as Installation from "./Installation.js"
import { configOf, serverOptions } from "./Settings.js"

/** The HTTP service over a core, with the settings of a configuration. */
export const serverLayer = (
  config: Pick<
    Config,
    "corsOrigins" | "heartbeatSeconds" | "host" | "metrics" | "port" | "publicUrl" | "requestSeconds" | "trustedProxies"
  > &
    Pick<HttpServer.HttpServerOptions, "measured">,
  stop: Pick<ListenOptions, "notice"> = {}
) =>
  HttpServer.layer({
    host: config.host,
    port: config.port,
    publicUrl: config.publicUrl,
    trustedProxies: config.trustedProxies,
    corsOrigins: config.corsOrigins,
    metrics: config.metrics,
    measured: config.measured ?? false,
    heartbeat: Duration.seconds(config.heartbeatSeconds),
    requestMs: config.requestSeconds * 1000,
    ...stop
  })

/** Prints the URL for the program that started this one, and logs the first steps for an operator without an account. */
const announce = (config: Config) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const server = yield* Server
      const accounts = yield* Accounts
      const { items } = yield* accounts.list({ limit: 1 })
      yield* Effect.sync(() =>
        process.stdout.write(`${JSON.stringify({ event: "ready", url: server.url, data_dir: config.dataDir })}\n`)
      )
      if (items.length > 0) return
      yield* Effect.logInfo(
        "There is no account yet. Make one, and a key for it: reins accounts create --email you@example.com, " +
          "then reins keys create --email you@example.com --name first"
      )
    })
  )

/**
 * Replaces port 0 by a free port before the core starts, because links in mails and the check of a request's origin name the port of the
 * public URL.
 */
const withPort = (config: Config): Effect.Effect<Config> =>
  config.port !== 0
    ? Effect.succeed(config)
    : Effect.async((resume) => {
        const probe = createServer()
        const take = (port: number) => {
          const publicUrl = new URL(config.publicUrl)
          if (publicUrl.port === "0") publicUrl.port = String(port)
          resume(Effect.succeed({ ...config, port, publicUrl }))
        }
        // The server fails at this port next, and says why.
        probe.once("error", () => take(0))
        probe.listen(0, config.host, () => {
          const address = probe.address()
          probe.close(() => take(typeof address === "object" && address !== null ? address.port : 0))
        })
      })

const program = (given: Config) =>
  Effect.gen(function* () {
    const otlp = yield* Telemetry.otlpOf(process.env)
    const config = yield* withPort(given)
    const server = serverLayer({ ...config, measured: otlp !== undefined })
    const service = Layer.merge(announce(config).pipe(Layer.provideMerge(server)), Core.worker)
    const installation = Layer.provide(Installation.workingLayer(config), Observation.layer)
    return yield* Layer.launch(Layer.provide(service, installation)).pipe(
      Effect.withTracerEnabled(otlp !== undefined),
      Effect.provide(Layer.provideMerge(Telemetry.layer(otlp), Logger.minimumLogLevel(config.logLevel)))
    )
  })

/** `reins serve` */
export const serve = Command.make("serve", serverOptions, (options) => Effect.flatMap(configOf(options), program)).pipe(
  Command.withDescription("Run the service")
)

/** `reins serve` without options, for `reins` alone. */
export const serveWithDefaults = Effect.flatMap(configOf({}), program)
