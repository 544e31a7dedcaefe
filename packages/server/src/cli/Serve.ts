import { createServer } from "node:net"
import { Command } from "@effect/cli"
import * as Core from "@reins/core/Core"
import { Accounts } from "@reins/core/identity/Accounts"
import { Duration, Effect, Layer, Logger } from "effect"
import type { Config } from "../Config.js"
import * as HttpServer from "../HttpServer.js"
import { type ListenOptions, Server } from "../Server.js"
import * as Installation from "./Installation.js"
import { configOf, serverOptions } from "./Settings.js"

/** The HTTP service over a core that is there, as a configuration wants it. */
export const serverLayer = (
  config: Pick<
    Config,
    "heartbeatSeconds" | "host" | "metrics" | "port" | "publicUrl" | "requestSeconds" | "trustedProxies"
  >,
  stop: Pick<ListenOptions, "notice"> = {}
) =>
  HttpServer.layer({
    host: config.host,
    port: config.port,
    publicUrl: config.publicUrl,
    trustedProxies: config.trustedProxies,
    metrics: config.metrics,
    heartbeat: Duration.seconds(config.heartbeatSeconds),
    requestMs: config.requestSeconds * 1000,
    ...stop
  })

/** Tells the program that started this one where the service is, and its operator what to do first. */
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
 * A free port in the place of 0, taken before the core starts: links in mails and the check of a request's origin name the port of
 * the public URL.
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
        // The server that listens next says why it cannot.
        probe.once("error", () => take(0))
        probe.listen(0, config.host, () => {
          const address = probe.address()
          probe.close(() => take(typeof address === "object" && address !== null ? address.port : 0))
        })
      })

const program = (given: Config) => Effect.flatMap(withPort(given), launch)

const launch = (config: Config) => {
  const service = Layer.merge(announce(config).pipe(Layer.provideMerge(serverLayer(config))), Core.worker)
  return Layer.launch(Layer.provide(service, Installation.workingLayer(config))).pipe(
    Effect.provide(Logger.minimumLogLevel(config.logLevel))
  )
}

export const serve = Command.make("serve", serverOptions, (options) => Effect.flatMap(configOf(options), program)).pipe(
  Command.withDescription("Run the service")
)

export const serveWithDefaults = Effect.flatMap(configOf({}), program)
