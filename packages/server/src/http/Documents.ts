import { once } from "@reins/base/base/Once"
import { notFound } from "@reins/base/domain/ReinsError"
import { Api } from "@reins/core/Api"
import { Installed } from "@reins/core/catalog/Installed"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import { Nodes } from "@reins/core/placement/Nodes"
import { Readiness, type ReadinessReport } from "@reins/core/store/Readiness"
import { Effect } from "effect"
import { Shutdown } from "../Shutdown.js"
import { cachedFile } from "./CachedFile.js"
import { loginCookies } from "./middleware/LoginCookies.js"
import { Reply } from "./Reply.js"
import type { Route } from "./Route.js"

/** The routes that describe the service to anybody: its contract for programs and for people, and its health. */
export const documentRoutes = Effect.fnUntraced(function* (publicUrl: URL) {
  const installed = yield* Installed
  const logins = yield* LoginSessions
  const readiness = yield* Readiness
  const shutdown = yield* Shutdown
  const nodes = yield* Nodes
  // Nobody may ever ask for it, so it is made with the first request.
  const document = yield* once(
    Effect.gen(function* () {
      const { documentOf } = yield* Effect.promise(() => import("./openapi/OpenApiDocument.js"))
      return documentOf(Api, installed, pathOf(publicUrl), loginCookies(publicUrl, yield* logins.installation).name)
    })
  )
  const json = yield* once(
    Effect.flatMap(document, (value) => cachedFile(JSON.stringify(value), { "content-type": "application/json" }))
  )
  // The script is large and seldom asked for, so it is loaded with the first request.
  const reference = yield* once(
    Effect.gen(function* () {
      const { referencePage, referenceScript } = yield* Effect.promise(() => import("./ReferencePage.js"))
      const type = { "content-type": "text/javascript; charset=utf-8" }
      const script = yield* cachedFile(yield* referenceScript, type, { immutable: true })
      const name = `${script.digest}.js`
      const page = yield* cachedFile(referencePage(name), {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": pagePolicy
      })
      return { name, page, script }
    })
  )
  const ready = Effect.gen(function* () {
    if (yield* shutdown.hasBegun) return unready("shutting_down", {})
    const checks = yield* readiness.check
    // Requests that need no files are served without a lease.
    const reason = reasonOf(checks) ?? (nodes.role === "api" || nodes.holds() ? undefined : "lease_lost")
    return reason === undefined ? Reply.json(200, { status: "ready", checks }) : unready(reason, checks)
  })
  return [
    fileRoute("/openapi.json", (exchange) => Effect.map(json, (file) => file.answer(exchange))),
    fileRoute("/docs", (exchange) => Effect.map(reference, ({ page }) => page.answer(exchange))),
    fileRoute("/docs/:script", (exchange, { script: asked }) =>
      Effect.flatMap(reference, ({ name, script }) =>
        asked === name ? Effect.succeed(script.answer(exchange)) : Effect.fail(notFound())
      )
    ),
    // Browsers ask for the icon with every page, and report an error as a fault of that page.
    routeOf("/favicon.ico", Effect.succeed(new Reply(204))),
    routeOf("/healthz", Effect.succeed(Reply.json(200, { status: "ok" }))),
    routeOf("/readyz", ready)
  ]
})

/** The path of a proxy below which the service is reached. It names no host, so the document holds at every name of the service. */
const pathOf = ({ pathname }: URL): string => pathname.replace(/(?<=.)\/+$/, "")

const fileRoute = (path: `/${string}`, answer: Route["answer"]): Route => ({
  method: "GET",
  path,
  mutates: false,
  answer
})

const routeOf = (path: `/${string}`, reply: Effect.Effect<Reply>): Route => fileRoute(path, () => reply)

/** The fault that an operator has to mend first; undefined when there is none. */
const reasonOf = ({ database, disk, migrations }: ReadinessReport): string | undefined => {
  if (disk !== "ok") return disk
  if (database !== "ok") return database === "busy" || database === "unavailable" ? `database_${database}` : database
  return migrations === "ok" || migrations === "expanded" ? undefined : "schema_of_another_release"
}

const unready = (reason: string, checks: Partial<ReadinessReport>) =>
  Reply.json(503, { status: "unavailable", reason, checks })

/** The page runs the script of this service, and calls nobody else. */
const pagePolicy =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
  "connect-src 'self'; frame-ancestors 'none'"
