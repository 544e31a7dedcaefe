import * as Headers from "@effect/platform/Headers"
import * as HttpTraceContext from "@effect/platform/HttpTraceContext"
import { Context, DefaultServices, Effect, Option, Tracer } from "effect"
import type { Exchange } from "../Exchange.js"
import type { Reply } from "../Reply.js"
import type { Route } from "../Route.js"

const noTracer = Context.get(DefaultServices.liveServices, Tracer.Tracer)

/** Makes the answer to a request a span, below the span that its `traceparent` names. Undefined when the runtime has no tracer. */
export const spansOf: Effect.Effect<
  ((exchange: Exchange, route: Route | undefined, answer: Effect.Effect<Reply>) => Effect.Effect<Reply>) | undefined
> = Effect.map(Effect.tracer, (tracer) => (tracer === noTracer ? undefined : inSpan))

const inSpan = (exchange: Exchange, route: Route | undefined, answer: Effect.Effect<Reply>): Effect.Effect<Reply> => {
  const { method, requestId } = exchange
  const parent = Option.getOrUndefined(
    HttpTraceContext.w3c(Headers.fromInput({ traceparent: exchange.header("traceparent") }))
  )
  const pattern = route?.path.replace(/:(\w+)/g, "{$1}")
  return Effect.withSpan(
    Effect.tap(answer, ({ status }) => Effect.annotateCurrentSpan("http.response.status_code", status)),
    pattern === undefined ? method : `${method} ${pattern}`,
    {
      kind: "server",
      captureStackTrace: false,
      attributes: { "http.request.method": method, "http.route": pattern, "reins.request_id": requestId },
      ...(parent && { parent })
    }
  )
}
