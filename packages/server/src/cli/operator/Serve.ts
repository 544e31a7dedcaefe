import { createServer } from "node:net"
import { setFlagsFromString } from "node:v8"
import { command } from "@reins/cli/Command"
import { tell } from "@reins/cli/terminal/Output"
import { painter } from "@reins/cli/terminal/Style"
import * as Core from "@reins/core/Core"
import { Accounts } from "@reins/core/identity/Accounts"
import { Executors } from "@reins/machine/executor/Executors"
import { endStarter } from "@reins/machine/repository/run/Starter"
import { Duration, Effect, Layer, Logger, Random } from "effect"
import type { Config } from "../../Config.js"
import * as HttpServer from "../../HttpServer.js"
import { type ListenError, listenError } from "../../ListenError.js"
import * as Observation from "../../Observation.js"
import { type ListenOptions, Server } from "../../Server.js"
import * as Telemetry from "../../Telemetry.js"
import { drainAtStop } from "./DrainAtStop.js"
import * as Installation from "./Installation.js"
import { requireExecutor } from "./RequiredExecutor.js"
import * as ServerAddress from "./ServerAddress.js"
import { configOf, serverOptions } from "./Settings.js"
import { setupLinkOf } from "./SetupLink.js"

/** The HTTP service over a core, with the settings of a configuration. */
export const serverLayer = (
  config: Pick<
    Config,
    | "acp"
    | "console"
    | "corsOrigins"
    | "heartbeatSeconds"
    | "host"
    | "metrics"
    | "port"
    | "publicUrl"
    | "requestSeconds"
    | "trustedProxies"
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
    console: config.console,
    acp: config.acp,
    metrics: config.metrics,
    measured: config.measured ?? false,
    heartbeat: Duration.seconds(config.heartbeatSeconds),
    requestMs: config.requestSeconds * 1000,
    ...stop
  })

/**
 * Collects garbage once it is as much as what is used. On a machine with much memory V8 lets it become three times as much. The nursery may grow
 * from now on. Both are set once the server is ready, because V8 takes compiled code only with the flags that it was compiled with.
 */
const collectForWork = Effect.sync(() => {
  setFlagsFromString("--heap-growing-percent=100")
  setFlagsFromString("--semi-space-growth-factor=2")
})

/** Prints the URL for the program that started this one, and logs the first steps for an operator without an account. */
const announce = (config: Config) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const server = yield* Server
      const accounts = yield* Accounts
      const setupCode = yield* accounts.setupCode
      const executor = (yield* (yield* Executors).list).find((each) => each.default)?.backend
      yield* Effect.sync(() =>
        process.stdout.write(
          `${JSON.stringify({ event: "ready", url: server.url, data_dir: config.dataDir, executor })}\n`
        )
      )
      yield* collectForWork
      if (setupCode === null) return
      const browser = config.console ? "Or make it in a browser, with the link of: reins accounts first" : ""
      yield* Effect.logInfo(
        `There is no account yet. Set up an account, a key and a connection with: reins init --data-dir ${config.dataDir}. ${browser}`.trimEnd()
      )
      // A terminal is read by whoever has started the server. Anything else may be a log, where the code does not belong.
      if (!config.console || process.stderr.isTTY !== true) return
      yield* Effect.sync(() =>
        tell(`\nMake the first account at ${painter(process.stderr)("bold", setupLinkOf(config, setupCode))}\n`)
      )
    })
  )

/**
 * The configuration with a port that was free a moment ago. It is tried before the core starts, so that a start that must fail writes nothing,
 * and because links in mails and the check of a request's origin name the port of the public URL.
 */
const withPort = (config: Config): Effect.Effect<Config, ListenError> =>
  Effect.map(config.port === 0 ? anyPort(config, 20) : tryPort(config), (port) => {
    const publicUrl = new URL(config.publicUrl)
    if (publicUrl.port === "0") publicUrl.port = String(port)
    return { ...config, port, publicUrl }
  })

/**
 * A port below the range that systems take the ports of outgoing connections from: one of those could take it until the server listens.
 * Where none of these is free, the system chooses.
 */
const anyPort = (config: Config, tries: number): Effect.Effect<number, ListenError> =>
  Effect.flatMap(Random.nextIntBetween(20_000, 32_000), (port) =>
    tries === 0 ? tryPort(config) : Effect.orElse(tryPort({ ...config, port }), () => anyPort(config, tries - 1))
  )

const tryPort = (config: Config): Effect.Effect<number, ListenError> =>
  Effect.async((resume) => {
    // A client that comes too early is sent away, since its connection would hold up the end of the probe.
    const probe = createServer((socket) => socket.destroy())
    probe.once("error", (cause) => resume(listenError(cause, config)))
    probe.listen(config.port, config.host, () => {
      const address = probe.address()
      const port = typeof address === "object" && address !== null ? address.port : config.port
      probe.close(() => resume(Effect.succeed(port)))
    })
  })

const program = (given: Config) =>
  Effect.gen(function* () {
    const otlp = yield* Telemetry.otlpOf(process.env)
    const config = yield* withPort(given)
    // Clients are not meant to reach a runner, and people neither.
    const console = config.console && config.node?.role !== "runner"
    const server = serverLayer({ ...config, console, measured: otlp !== undefined })
    const told = Layer.provideMerge(announce(config), ServerAddress.layer(config, config.port))
    const service = Layer.merge(told.pipe(Layer.provideMerge(server)), Core.worker).pipe(
      // A node that has no sessions runs no agents.
      Layer.provide(config.node?.role === "api" ? Layer.empty : Layer.effectDiscard(requireExecutor))
    )
    const leaving = drainAtStop(config.node?.drainSeconds ?? 0)
    const installation = Layer.provide(
      Installation.workingLayer(config),
      Layer.merge(Observation.layer, Telemetry.agentTraces(otlp))
    )
    return yield* Layer.launch(Layer.provide(Layer.provide(leaving, service), installation)).pipe(
      Effect.withTracerEnabled(otlp !== undefined),
      Effect.provide(Layer.provideMerge(Telemetry.layer(otlp), Logger.minimumLogLevel(config.logLevel)))
    )
  })

/** `reins serve` */
export const serve = command({
  takes: serverOptions,
  details: "Every setting can be a variable (REINS_PORT) or a line of reins.json (port).",
  examples: [
    ["reins serve", "Serve the installation in the working directory on port 7117"],
    ["reins serve --data-dir /var/lib/reins --port 8080", "Serve another one"]
  ],
  run: (options) => Effect.ensuring(Effect.flatMap(configOf(options), program), Effect.promise(endStarter))
})
