import { once } from "@reins/core/base/Once"
import { ReinsError } from "@reins/core/domain/ReinsError"
import { Nodes } from "@reins/core/placement/Nodes"
import { Effect, Runtime } from "effect"
import packageJson from "../../../package.json" with { type: "json" }
import { Shutdown } from "../../Shutdown.js"
import type { Exchange } from "../Exchange.js"
import { Authentication, bearerOf } from "../middleware/Authentication.js"
import { readBody, refusalOfLength } from "../middleware/BodyLimit.js"
import { Reply } from "../Reply.js"
import type { Route } from "../Route.js"
import { isOwnHost, isOwnOrigin } from "./OwnPages.js"
import { offerOf } from "./Upgrades.js"
import { headersOf, keySpaceOf, sendAnswer } from "./WebAnswers.js"

/** The longest message of an editor, in bytes. */
const mostBytes = 32 * 1024 * 1024

/**
 * The address at which editors reach their sessions without a program of ours. Its callers show an API key as a bearer. Neither a cookie nor the
 * token of an app counts. The package of the protocol is loaded with the first request.
 */
export const acpRoutes = Effect.fnUntraced(function* (publicUrl: URL) {
  const authentication = yield* Authentication
  const shutdown = yield* Shutdown
  const { self } = yield* Nodes
  const runtime = yield* Effect.runtime<never>()
  const runFork = Runtime.runFork(runtime)
  const door = yield* once(
    Effect.map(
      Effect.promise(() => import("../../doors/acp/HttpDoor.js")),
      ({ AcpHttpDoor }) => {
        const opened = new AcpHttpDoor({
          version: packageJson.version,
          isAlone: self === null,
          mostBytes,
          tell: (line) => void runFork(Effect.logDebug("a door of an editor says", line))
        })
        runFork(
          Effect.zipRight(
            shutdown.begun,
            Effect.promise(() => opened.close())
          )
        )
        return opened
      }
    )
  )

  const answer = Effect.fnUntraced(function* (exchange: Exchange) {
    // Before anything else: a page that was led here by a name of its own gets nothing.
    if (!isOwnHost(exchange, publicUrl) || !isOwnOrigin(exchange, publicUrl)) return new Reply(403)
    const token = bearerOf(exchange)
    if (token === undefined) return yield* noKey
    const principal = yield* authentication.admit(exchange, "read", false)
    const fetch = exchange.inProcess.fetchFor(exchange.clientAddress)
    const visitor = { keySpace: keySpaceOf(principal), token, fetch }
    const offer = offerOf(exchange.request)
    if (offer !== undefined) return new Reply((yield* door).upgrade(visitor, offer))
    const refusal = refusalOfLength(exchange, mostBytes)
    if (refusal !== undefined) return yield* refusal
    const body = exchange.method === "POST" ? yield* readBody(exchange, mostBytes) : undefined
    const { serve } = yield* door
    return yield* Effect.promise(async (gone) => {
      const request = new Request(`http://localhost${exchange.path}`, {
        method: exchange.method,
        headers: headersOf(exchange.request),
        signal: gone,
        ...(body !== undefined && { body })
      })
      let status = 500
      await serve(visitor, request, (answer) => {
        status = answer.status
        return sendAnswer(answer, exchange)
      })
      return new Reply(status)
    })
  })

  const methods = ["GET", "POST", "DELETE"] as const
  return methods.map((method): Route => ({ method, path: "/acp", mutates: false, answer }))
})

const noKey = new ReinsError({
  code: "unauthenticated",
  message: "No valid credentials. Send an API key as `Authorization: Bearer rk_...`."
})
