import { Command } from "@effect/cli"
import * as Core from "@reins/core/Core"
import { Accounts } from "@reins/core/identity/Accounts"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import { Idempotency } from "@reins/core/store/Idempotency"
import { Effect, Layer, Logger, Schedule } from "effect"
import type { Config } from "../Config.js"
import { EventStreams, streamDefaults } from "../EventStreams.js"
import { Authentication } from "../http/middleware/Authentication.js"
import { RateLimit } from "../http/middleware/RateLimit.js"
import { routes } from "../http/Routes.js"
import { Server } from "../Server.js"
import { Shutdown } from "../Shutdown.js"
import * as Installation from "./Installation.js"
import { configOf, serverOptions } from "./Settings.js"

/** The HTTP service over a core that is there. */
export const serverLayer = (config: Pick<Config, "host" | "port" | "publicUrl" | "rateLimit">) =>
  Server.layer(routes, { host: config.host, port: config.port, publicUrl: config.publicUrl, grace: "6 seconds" }).pipe(
    Layer.provide(
      Layer.mergeAll(
        Authentication.layer(config.publicUrl),
        EventStreams.layer(config.rateLimit === null ? { ...streamDefaults, perSession: null } : streamDefaults)
      )
    ),
    Layer.provide(
      Layer.merge(config.rateLimit === null ? RateLimit.layerOff : RateLimit.layer(config.rateLimit), Shutdown.layer)
    )
  )

/** Deletes each hour what can no longer be used. */
const housekeeping = Layer.scopedDiscard(
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const idempotency = yield* Idempotency
    const logins = yield* LoginSessions
    const sweep = Effect.all([idempotency.purge, logins.purge, accounts.purge], { discard: true }).pipe(
      Effect.catchAllCause((cause) => Effect.logWarning("old records could not be deleted", cause))
    )
    yield* Effect.forkScoped(Effect.schedule(sweep, Schedule.spaced("1 hour")))
  })
)

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

const program = (config: Config) => {
  const core = Installation.layer(config).pipe(Layer.provide(Installation.lock(config)))
  const service = Layer.mergeAll(
    announce(config).pipe(Layer.provideMerge(serverLayer(config))),
    Core.worker,
    housekeeping
  )
  return Layer.launch(Layer.provide(service, core)).pipe(Effect.provide(Logger.minimumLogLevel(config.logLevel)))
}

export const serve = Command.make("serve", serverOptions, (options) => Effect.flatMap(configOf(options), program)).pipe(
  Command.withDescription("Run the service")
)

export const serveWithDefaults = Effect.flatMap(configOf({}), program)
