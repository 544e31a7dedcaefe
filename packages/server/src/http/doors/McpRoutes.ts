import { once } from "@reins/base/base/Once"
import type { AppAccess, Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Authorizations } from "@reins/core/oauth/Authorizations"
import { Effect, Runtime } from "effect"
import packageJson from "../../../package.json" with { type: "json" }
import { Shutdown } from "../../Shutdown.js"
import { announcesBody } from "../BodyType.js"
import type { Exchange } from "../Exchange.js"
import { Authentication, bearerOf } from "../middleware/Authentication.js"
import { readBody } from "../middleware/BodyLimit.js"
import { errorReply } from "../middleware/ErrorEnvelope.js"
import { challengeOf, firstScope } from "../oauth/Challenge.js"
import { Reply } from "../Reply.js"
import type { Route } from "../Route.js"
import { consoleUrlOf, refusalOfPage } from "./OwnPages.js"
import { headersOf, keySpaceOf, sendAnswer } from "./WebAnswers.js"

/** The longest request, in bytes. */
const mostBytes = 1024 * 1024

/**
 * The address at which assistants reach the tools of the house. Its callers show an API key or the token of an app as a bearer, and no cookie counts.
 * The package of the protocol is loaded with the first request.
 */
export const mcpRoutes = Effect.fnUntraced(function* (publicUrl: URL) {
  const authentication = yield* Authentication
  const shutdown = yield* Shutdown
  const runtime = yield* Effect.runtime<never>()
  const runFork = Runtime.runFork(runtime)
  const { issuer } = yield* Authorizations
  const challenge = challengeOf(issuer)
  const consoleUrl = consoleUrlOf(publicUrl)
  const door = yield* once(
    Effect.map(
      Effect.promise(() => import("../../doors/mcp/HttpDoor.js")),
      ({ httpDoor }) => {
        const stopping = new AbortController()
        runFork(
          Effect.zipRight(
            shutdown.begun,
            Effect.sync(() => stopping.abort())
          )
        )
        const onFault = (fault: Error) =>
          void runFork(Effect.logWarning("a request of an assistant failed", fault.message))
        return httpDoor({ release: packageJson.version, consoleUrl, stopping: stopping.signal, onFault })
      }
    )
  )

  const answer = Effect.fnUntraced(function* (exchange: Exchange) {
    // Before anything else: a page that was led here by a name of its own gets nothing.
    const foreign = refusalOfPage(exchange, publicUrl)
    if (foreign !== undefined) return yield* foreign
    const token = bearerOf(exchange)
    if (token === undefined) return yield* noToken
    exchange.isForApps = true
    const principal = yield* authentication.admit(exchange, "read", false)
    const app = appOf(principal)
    const body = announcesBody(exchange) ? yield* readBody(exchange, mostBytes) : Buffer.alloc(0)
    const serve = yield* door
    const url = new URL(`http://localhost${exchange.path}?${exchange.query}`)
    return yield* Effect.promise(async (gone) => {
      const asked = {
        url,
        headers: headersOf(exchange.request),
        body: body.toString("utf8"),
        gone,
        token,
        keySpace: keySpaceOf(principal),
        // The person of an app has decided this on the page of consent.
        isUnattended: app === undefined ? url.searchParams.get("unattended") === "true" : app.isUnattended,
        // A program chooses its own key. An app can ask its person for more.
        ...(app !== undefined && { granted: principal.scopes, challenge }),
        fetch: exchange.inProcess.fetchFor(exchange.clientAddress)
      }
      let status = 500
      await serve(asked, (answer) => {
        status = answer.status
        return sendAnswer(answer, exchange)
      })
      return new Reply(status)
    })
  })

  /** A caller without good credentials learns where apps get a token. */
  const challenged = (exchange: Exchange) =>
    Effect.catchIf(
      answer(exchange),
      ({ code }) => code === "unauthenticated",
      (error) => {
        const { body, headers, status } = errorReply(error, exchange.requestId)
        const reason = bearerOf(exchange) === undefined ? undefined : "invalid_token"
        return Effect.succeed(
          new Reply(status, body, { ...headers, "www-authenticate": challenge(firstScope, reason) })
        )
      }
    )

  // Other methods of the path are told which one there is.
  return [{ method: "POST", path: "/mcp", mutates: false, answer: challenged }] satisfies ReadonlyArray<Route>
})

const noToken = new ReinsError({
  code: "unauthenticated",
  message: "No valid credentials. Send an API key as `Authorization: Bearer rk_...`, or log in with OAuth."
})

const appOf = ({ via }: Principal): AppAccess | undefined => (via.kind === "api_key" ? via.app : undefined)
