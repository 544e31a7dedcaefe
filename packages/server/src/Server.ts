import { createServer, type Server as NodeServer } from "node:http"
import { NodeHttpServer } from "@effect/platform-node"
import { CoreConfig } from "@reins/core/CoreConfig"
import { Context, type Duration, Effect, Layer } from "effect"
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
}

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
        const node = createServer()
        const http = yield* NodeHttpServer.make(() => node, { host: options.host, port: options.port })
        yield* http.serve(app)
        // Runs before the finalizers of the two lines above, which wait for connections that idle clients would keep open.
        yield* Effect.addFinalizer(() => stop(node, shutdown, options.grace))
        const { address } = http
        const host = options.host.includes(":") ? `[${options.host}]` : options.host
        return Server.of({ url: address._tag === "TcpAddress" ? `http://${host}:${address.port}` : address.path })
      })
    )
}

const stop = (node: NodeServer, shutdown: Shutdown["Type"], grace: Duration.DurationInput) =>
  Effect.gen(function* () {
    yield* shutdown.begin
    node.close()
    yield* Effect.timeoutOption(shutdown.idle, grace)
    node.closeAllConnections()
  })
