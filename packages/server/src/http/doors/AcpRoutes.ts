import type { Duplex } from "node:stream"
import { once } from "@reins/base/base/Once"
import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Nodes } from "@reins/core/placement/Nodes"
import { accessTopic, Bell } from "@reins/core/store/Bell"
import { Effect, Runtime } from "effect"
import packageJson from "../../../package.json" with { type: "json" }
import { Shutdown } from "../../Shutdown.js"
import type { Exchange } from "../Exchange.js"
import { Authentication, bearerOf } from "../middleware/Authentication.js"
import { readBody, refusalOfLength } from "../middleware/BodyLimit.js"
import { Reply } from "../Reply.js"
import type { Route } from "../Route.js"
import { consoleUrlOf, refusalOfPage } from "./OwnPages.js"
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
  const bell = yield* Bell
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
          consoleUrl: consoleUrlOf(publicUrl),
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

  /** Ends a connection whose key is no longer good. Its sessions go on where their turns may. */
  const watch = (exchange: Exchange, principal: Principal, socket: Duplex) => {
    const look = Effect.map(authentication.identify(exchange), (caller) => {
      if (caller === undefined) socket.destroy()
    })
    const stop = bell.listen(accessTopic(principal.accountId), () => void runFork(Effect.ignore(Effect.sandbox(look))))
    socket.once("close", stop)
    // The key may have gone while the connection was made.
    void runFork(Effect.ignore(Effect.sandbox(look)))
  }

  const answer = Effect.fnUntraced(function* (exchange: Exchange) {
    // Before anything else: a page that was led here by a name of its own gets nothing.
    const foreign = refusalOfPage(exchange, publicUrl)
    if (foreign !== undefined) return yield* foreign
    const token = bearerOf(exchange)
    if (token === undefined) return yield* noKey
    const principal = yield* authentication.admit(exchange, "read", false)
    const fetch = exchange.inProcess.fetchFor(exchange.clientAddress)
    const visitor = { keySpace: keySpaceOf(principal), token, fetch }
    const offer = offerOf(exchange.request)
    if (offer !== undefined) {
      const status = (yield* door).upgrade(visitor, offer)
      if (status === 101) watch(exchange, principal, offer.socket)
      return new Reply(status)
    }
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
