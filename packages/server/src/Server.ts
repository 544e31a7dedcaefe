import { createServer, type Server as NodeServer } from "node:http"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { limited } from "@reins/base/base/Limited"
import { Clock, Context, type Duration, Effect, Layer } from "effect"
import { takeUpgrades } from "./http/doors/Upgrades.js"
import { listener } from "./http/Listener.js"
import type { Route } from "./http/Route.js"
import { type ListenError, listenError } from "./ListenError.js"
import { Shutdown } from "./Shutdown.js"
import { Sockets } from "./Sockets.js"

/** The address of the service and the way it listens. */
export interface ListenOptions {
  /** The address to listen on. */
  readonly host: string
  /** The port. 0 takes any free port. */
  readonly port: number
  /** The URL at which people reach the service. */
  readonly publicUrl: URL
  /** The proxies, by address or network. Their `X-Forwarded-For`, or else their `Forwarded`, is believed. */
  readonly trustedProxies: ReadonlyArray<string>
  /** Origins whose pages may call the API with a key; none unless given. No page of another origin may use a login. */
  readonly corsOrigins?: ReadonlyArray<string>
  /** The time that requests which have begun may take when the service stops. */
  readonly grace: Duration.DurationInput
  /**
   * The time that kept connections stay open at a stop, so that a request that still comes is answered; a second when left out. Nobody can
   * tell that no request will come on such a connection, so the whole time is waited for.
   */
  readonly notice?: Duration.DurationInput
  /** True where a route takes connections over as WebSockets. Offers of other upgrades are served as plain requests. */
  readonly takesUpgrades?: boolean
  /** The time that a client has to send a request, in milliseconds: two minutes unless it is given. It has 20 s of it for the headers. */
  readonly requestMs?: number
}

/**
 * Time limits of a connection, in milliseconds. Idle connections are kept longer than the minute of most proxies. Late clients are looked
 * for often, so that thousands of them are not ended in one turn of the loop.
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
    /** The URL of the service on this machine, without a trailing slash. */
    readonly url: string
  }
>() {
  /** Serves routes. When the scope ends, requests that have begun are finished first, and streams are told the reason of their end. */
  static readonly layer = <R>(routes: Effect.Effect<ReadonlyArray<Route>, never, R>, options: ListenOptions) =>
    Layer.scoped(
      Server,
      Effect.gen(function* () {
        const shutdown = yield* Shutdown
        const { limits } = yield* CoreConfig
        const { grace, notice = defaultNotice } = options
        // Without a listener for upgrades, a request that offers one is served like any other, with its body.
        const node = createServer(patience(options))
        const sockets = new Sockets(node)
        const take = yield* listener(yield* routes, shutdown, { ...options, limits })
        node.on("request", take)
        if (options.takesUpgrades === true) takeUpgrades(node, take)
        // Clients follow the clock of the machine, even when the services use another clock.
        const port = yield* Effect.acquireRelease(listen(node, options), () =>
          Effect.withClock(stop(sockets, shutdown, { grace, notice }), Clock.make())
        )
        const host = options.host.includes(":") ? `[${options.host}]` : options.host
        return Server.of({ url: `http://${host}:${port}` })
      })
    )
}

/** The least and the most time in which a request that was on its way when the stop came is still served. */
const arrival = { least: "100 millis", most: "2 seconds" } as const
/** The time in which connections that wait when the listener ends are still accepted. */
const lastArrival = "1 second"
const defaultNotice = "1 second"
/** The time that a client has to read the end of its connection. */
const farewell = "500 millis"

/** Takes connections from now on, and gives back the port. */
const listen = (node: NodeServer, { host, port }: ListenOptions): Effect.Effect<number, ListenError> =>
  Effect.async((resume) => {
    const onError = (cause: NodeJS.ErrnoException) => resume(listenError(cause, { host, port }))
    node.once("error", onError)
    node.listen({ host, port }, () => {
      node.off("error", onError)
      const address = node.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
    })
  })

const stop = (
  sockets: Sockets,
  shutdown: Shutdown["Type"],
  { grace, notice }: Readonly<Record<"grace" | "notice", Duration.DurationInput>>
) =>
  Effect.gen(function* () {
    yield* shutdown.begin
    yield* Effect.zipRight(Effect.sleep(arrival.least), within(sockets.arrived, arrival.most))
    yield* shutdown.refuse
    yield* Effect.all([within(sockets.answered, grace), within(sockets.closed, notice)], { concurrency: 2 })
    yield* shutdown.giveUp
    // Connections that wait to be accepted would be reset with the end of the listener.
    yield* within(sockets.arrived, lastArrival)
    yield* sockets.end
    yield* within(sockets.closed, farewell)
    yield* sockets.destroy
  })

const within = (wait: Effect.Effect<void>, limit: Duration.DurationInput) => limited(wait, Effect.timeoutOption(limit))
