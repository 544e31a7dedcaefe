import { Api } from "@reins/core/api/Api"
import { Installed } from "@reins/core/catalog/Installed"
import { Readiness, type ReadinessReport } from "@reins/core/store/Readiness"
import { Effect } from "effect"
import { Shutdown } from "../Shutdown.js"
import { Reply } from "./Reply.js"
import type { Route } from "./Route.js"

/** The routes that describe the service to anybody: its contract for programs and for people, and its health. */
export const documentRoutes = Effect.gen(function* () {
  const installed = yield* Installed
  const readiness = yield* Readiness
  const shutdown = yield* Shutdown
  // Nobody may ever ask for it, so it is made with the first request.
  const document = yield* Effect.cached(
    Effect.map(
      Effect.promise(() => import("./openapi/OpenApiDocument.js")),
      ({ documentOf }) => documentOf(Api, installed)
    )
  )
  const json = yield* Effect.cached(Effect.map(document, (value) => Reply.json(200, value)))
  // The page is large and seldom asked for, so it is loaded with the first request.
  const page = yield* Effect.cached(
    Effect.gen(function* () {
      const { pageOf } = yield* Effect.promise(() => import("./SwaggerPage.js"))
      return new Reply(200, yield* pageOf(yield* document), {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": pagePolicy
      })
    })
  )
  const ready = Effect.gen(function* () {
    if (yield* shutdown.hasBegun) return unready("shutting_down", {})
    const checks = yield* readiness.check
    const reason = reasonOf(checks)
    return reason === undefined ? Reply.json(200, { status: "ready", checks }) : unready(reason, checks)
  })
  return [
    routeOf("/openapi.json", json),
    routeOf("/docs", page),
    // Browsers ask for the icon with every page, and report an error as a fault of that page.
    routeOf("/favicon.ico", Effect.succeed(new Reply(204))),
    routeOf("/healthz", Effect.succeed(Reply.json(200, { status: "ok" }))),
    routeOf("/readyz", ready)
  ]
})

const routeOf = (path: `/${string}`, reply: Effect.Effect<Reply>): Route => ({
  method: "GET",
  path,
  mutates: false,
  answer: () => reply
})

/** The fault that an operator has to mend first; undefined when there is none. */
const reasonOf = ({ database, disk, migrations }: ReadinessReport): string | undefined => {
  if (disk !== "ok") return disk
  if (database !== "ok") return database === "busy" || database === "unavailable" ? `database_${database}` : database
  return migrations === "ok" ? undefined : "schema_of_another_release"
}

const unready = (reason: string, checks: Partial<ReadinessReport>) =>
  Reply.json(503, { status: "unavailable", reason, checks })

/** The page runs the script that it holds, and calls nobody but this service. */
const pagePolicy =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; frame-ancestors 'none'"
