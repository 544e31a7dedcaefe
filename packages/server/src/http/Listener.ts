import type { RequestListener } from "node:http"
import type { CoreLimits } from "@reins/base/base/CoreLimits"
import { Cause, Context, Effect, Exit, FiberId, Runtime, RuntimeFlags } from "effect"
import { type Shutdown, shuttingDown } from "../Shutdown.js"
import { clientAddressBehind } from "./ClientAddress.js"
import { Exchange } from "./Exchange.js"
import { InProcess } from "./InProcess.js"
import { accessLog } from "./middleware/AccessLog.js"
import { refusalOfBody } from "./middleware/BodyLimit.js"
import { corsOf } from "./middleware/Cors.js"
import { errorReply, replyToFailure } from "./middleware/ErrorEnvelope.js"
import { securityHeaders } from "./middleware/SecurityHeaders.js"
import { spansOf } from "./middleware/Tracing.js"
import { refusalOfRepeated } from "./RepeatedHeaders.js"
import { type Reply, send } from "./Reply.js"
import type { Route } from "./Route.js"
import { RouteTable } from "./RouteTable.js"

export interface ListenerOptions {
  /** The URL at which people reach the service. */
  readonly publicUrl: URL
  /** The proxies, by address or network. Their `X-Forwarded-For`, or else their `Forwarded`, is believed. */
  readonly trustedProxies: ReadonlyArray<string>
  /** Origins whose pages may call the API with a key; none unless given. */
  readonly corsOrigins?: ReadonlyArray<string>
  readonly limits: CoreLimits
}

/** The status that is counted for a client that went away before its answer, as nginx does. */
const clientGone = 499

/** Says once that limits count a proxy in the place of its clients, because each further request would say the same. */
const onceUnreadable = (run: (effect: Effect.Effect<void>) => unknown) => {
  let isTold = false
  return (hop: string): void => {
    if (isTold) return
    isTold = true
    run(
      Effect.logWarning(
        "A trusted proxy names a client by no address, so limits count the proxy. Let it send X-Forwarded-For or Forwarded with addresses.",
        { forwarded: hop.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 100) }
      )
    )
  }
}

/** Answers the requests of a node server: each is one fiber, whose exit becomes its answer. */
export const listener = (
  routes: ReadonlyArray<Route>,
  shutdown: Shutdown["Type"],
  { corsOrigins = [], limits, publicUrl, trustedProxies }: ListenerOptions
): Effect.Effect<RequestListener> =>
  Effect.zipWith(Effect.runtime<never>(), spansOf, (current, inSpan) => {
    // Handlers have their services, and each commit copies the context that it is in.
    const withoutServices = Runtime.make({ ...current, context: Context.empty() })
    // Nothing reads the metrics of fibers that Effect keeps.
    const runtime = Runtime.disableRuntimeFlag(withoutServices, RuntimeFlags.RuntimeMetrics)
    const fork = Runtime.runFork(Runtime.enableRuntimeFlag(runtime, RuntimeFlags.Interruption))
    const forkToItsEnd = Runtime.runFork(Runtime.disableRuntimeFlag(runtime, RuntimeFlags.Interruption))
    const table = new RouteTable(routes)
    const log = accessLog(runtime)
    const addressOf = clientAddressBehind(trustedProxies, onceUnreadable(fork))
    const commonHeaders = securityHeaders(publicUrl)
    const cors = corsOf(corsOrigins)

    const take: RequestListener = (request, response) => {
      const startedAt = performance.now()
      const exchange = new Exchange(request, response, addressOf, commonHeaders, inProcess)
      const preflight = cors?.admit(exchange)
      const refusal =
        shutdown.enter(exchange) ?? refusalOfRepeated(request.rawHeaders) ?? refusalOfBody(exchange, limits)
      const match = preflight === undefined ? table.find(exchange) : undefined
      const route = match?.route
      const inItsForm = route?.inItsForm ?? ((failure: Reply) => failure)
      const untraced = Effect.catchAllCause(
        Effect.suspend(
          () => refusal ?? preflight ?? match?.route.answer(exchange, match.params) ?? table.otherwise(exchange)
        ),
        (cause) =>
          Cause.isInterruptedOnly(cause)
            ? Effect.interrupt
            : Effect.map(replyToFailure(cause, exchange.requestId), inItsForm)
      )
      const answer = inSpan === undefined ? untraced : inSpan(exchange, route, untraced)

      const finish = (exit: Exit.Exit<Reply>) => {
        shutdown.leave(exchange)
        const ms = performance.now() - startedAt
        if (Exit.isFailure(exit)) {
          // A client that is still there has waited for work that was stopped.
          send(exchange, inItsForm(errorReply(shuttingDown, exchange.requestId)))
          return route?.meter?.ended(clientGone, ms / 1000)
        }
        const { status } = exit.value
        send(exchange, exit.value)
        route?.meter?.ended(status, ms / 1000)
        log(exchange, status, ms, fiber.id())
      }

      route?.meter?.began()
      const fiber = route?.mutates === true ? forkToItsEnd(answer) : fork(answer)
      fiber.addObserver(finish)
      response.once("close", () => {
        if (!response.writableEnded) fiber.unsafeInterruptAsFork(FiberId.none)
      })
    }
    const inProcess = new InProcess(take)
    return take
  })
