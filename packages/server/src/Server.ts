import { createServer } from "node:http"
import { NodeHttpServer } from "@effect/platform-node"
import { CoreConfig } from "@reins/core/CoreConfig"
import { Clock, Context, type Duration, Effect, Layer } from "effect"
import { Connections } from "./Connections.js"
import { accessLog } from "./http/middleware/AccessLog.js"
import { bodyLimit } from "./http/middleware/BodyLimit.js"
import { errorEnvelope } from "./http/middleware/ErrorEnvelope.js"
import { requestId } from "./http/middleware/RequestId.js"
import { securityHeaders } from "./http/middleware/SecurityHeaders.js"
import { type Route, toApp } from "./http/Router.js"
import { Shutdown } from "./Shutdown.js"

export interface ListenOptions {
  readonly host: string
  /** 0 for any that is free. */
  readonly port: number
  /** Where people reach the service. */
  readonly publicUrl: URL
  /** The proxies, by address or network, whose word on where a request comes from is taken. */
  readonly trustedProxies: ReadonlyArray<string>
  /** How long requests that have begun may take when the service is stopped. */
  readonly grace: Duration.DurationInput
  /** How long a client may take for what it sends, in milliseconds: two minutes unless it is given. Its headers come within 20 s of it. */
  readonly requestMs?: number
}

/**
 * How long a connection may take, in milliseconds. Proxies keep theirs for a minute: ours are kept longer. Those that are late are looked
 * for often, so that of thousands not all are ended in one turn of the loop.
 */
const patience = ({ requestMs = 120_000 }: ListenOptions) => ({
  headersTimeout: Math.min(20_000, requestMs),
  requestTimeout: requestMs,
  connectionsCheckingInterval: 250,
  keepAliveTimeout: 75_000
})

/** The service on a port, for as long as the layer lives. */
export class Server extends Context.Tag("@reins/server/Server")<
  Server,
  {
    /** Where it can be reached from this machine, without a trailing slash. */
    readonly url: string
  }
>() {
  /** Serves routes. When the scope ends, what has begun is finished first, and streams are told why they end. */
  static readonly layer = <R>(routes: Effect.Effect<ReadonlyArray<Route>, never, R>, options: ListenOptions) =>
    Layer.scoped(
      Server,
      Effect.gen(function* () {
        const shutdown = yield* Shutdown
        const { limits } = yield* CoreConfig
        const app = (yield* toApp(yield* routes)).pipe(
          bodyLimit(limits),
          shutdown.guard,
          errorEnvelope,
          accessLog,
          securityHeaders(options.publicUrl),
          requestId(options.trustedProxies)
        )
        const node = createServer(patience(options))
        const connections = new Connections(node)
        const http = yield* NodeHttpServer.make(() => node, { host: options.host, port: options.port })
        yield* http.serve(app)
        // Without a listener an upgrade that is offered is passed over, and its request served like any other, with its body.
        node.removeAllListeners("upgrade")
        // Runs before the finalizers of the two lines above, which wait for connections that idle clients would keep open.
        // Clients are on the clock of the machine, whatever clock the services keep.
        yield* Effect.addFinalizer(() => Effect.withClock(stop(connections, shutdown, options.grace), Clock.make()))
        const { address } = http
        const host = options.host.includes(":") ? `[${options.host}]` : options.host
        return Server.of({ url: address._tag === "TcpAddress" ? `http://${host}:${address.port}` : address.path })
      })
    )
}

/** How long at least, and at most, a request that was on its way when the stop came is still served. */
const arrival = { least: "100 millis", most: "2 seconds" } as const
/** How long connections that are kept without a request are told of the stop, should a request come, before they are closed. */
const notice = "1 second"
/** How long a client has to take the end of its connection. */
const farewell = "500 millis"

const stop = (connections: Connections, shutdown: Shutdown["Type"], grace: Duration.DurationInput) =>
  Effect.gen(function* () {
    yield* shutdown.begin
    yield* Effect.zipRight(Effect.sleep(arrival.least), within(connections.arrived, arrival.most))
    yield* shutdown.refuse
    yield* Effect.all([within(connections.answered, grace), within(connections.closed, notice)], { concurrency: 2 })
    yield* shutdown.giveUp
    // What waits to be accepted would be reset with the end of the listener.
    yield* within(connections.arrived, notice)
    yield* connections.end
    yield* within(connections.closed, farewell)
    yield* connections.destroy
  })

/** Finalizers cannot be interrupted; their waiting may be given up. */
const within = (wait: Effect.Effect<void>, limit: Duration.DurationInput) =>
  Effect.timeoutOption(Effect.interruptible(wait), limit)
