import { HttpRouter, HttpServerResponse } from "@effect/platform"
import { Api } from "@reins/core/api/Api"
import { documentOf } from "@reins/core/api/OpenApiDocument"
import { Database } from "@reins/core/store/Database"
import { Cause, Effect } from "effect"
import { Shutdown } from "../Shutdown.js"

/** What the service says of itself, to anybody: its contract for programs and for people, and how it is. */
export const documentRoutes = Effect.gen(function* () {
  const db = yield* Database
  const shutdown = yield* Shutdown
  const document = yield* Effect.cached(Effect.sync(() => documentOf(Api)))
  const json = yield* Effect.cached(Effect.map(document, (value) => HttpServerResponse.unsafeJson(value)))
  // The page is large and seldom asked for, so it is not loaded before that.
  const page = yield* Effect.cached(
    Effect.gen(function* () {
      const { pageOf } = yield* Effect.promise(() => import("./SwaggerPage.js"))
      const response = yield* Effect.orDie(Effect.flatten(pageOf(yield* document)))
      return HttpServerResponse.setHeader(response, "content-security-policy", pagePolicy)
    })
  )
  const ready = Effect.gen(function* () {
    if (yield* shutdown.hasBegun) return unready("shutting_down")
    yield* db.transaction(db.run(db.sql`update sessions set version = version where id = ''`))
    return HttpServerResponse.unsafeJson({ status: "ready" })
  }).pipe(
    // A probe does not wait for a database that is stuck.
    Effect.disconnect,
    Effect.timeoutTo({
      duration: "2 seconds",
      onSuccess: (response) => response,
      onTimeout: () => unready("database_busy")
    }),
    Effect.catchAllDefect((defect) =>
      Effect.as(Effect.logWarning("not ready", Cause.pretty(Cause.die(defect))), unready("database_unavailable"))
    )
  )
  return [
    HttpRouter.makeRoute("GET", "/openapi.json", json),
    HttpRouter.makeRoute("GET", "/docs", page),
    // Browsers ask for it with every page, and take an error for a fault of that page.
    HttpRouter.makeRoute("GET", "/favicon.ico", Effect.succeed(HttpServerResponse.empty({ status: 204 }))),
    HttpRouter.makeRoute("GET", "/healthz", Effect.succeed(HttpServerResponse.unsafeJson({ status: "ok" }))),
    HttpRouter.makeRoute("GET", "/readyz", ready)
  ]
})

const unready = (reason: string) => HttpServerResponse.unsafeJson({ status: "unavailable", reason }, { status: 503 })

/** The page runs the script that it holds, and calls nobody but this service. */
const pagePolicy =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; frame-ancestors 'none'"
