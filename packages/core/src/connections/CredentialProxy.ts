import http, { type IncomingMessage, type ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { Context, Effect, Layer, Option, Redacted, Scope, SynchronizedRef } from "effect"
import { fn } from "../base/Traced.js"
import type { HarnessConnection } from "../harness/TurnInput.js"
import type { GuardedAgents } from "../outbound/GuardedAgents.js"
import { Outbound } from "../outbound/Outbound.js"
import { ConnectionKinds } from "./ConnectionKinds.js"
import { type Exchange, refuse, relay } from "./GatewayRelay.js"
import * as Loan from "./Loan.js"
import { type CallObserver, protocolOf } from "./ModelCall.js"

/**
 * The methods that are passed on. TRACE is left out because the gateway would answer with the key, and CONNECT because it leads to any host.
 */
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** Longer than the HTTP clients of agents keep a connection, so that the proxy never closes one that is about to be used again. */
const agentIdleMs = 120_000
/** Shorter than gateways keep a connection, for the same reason. */
const gatewayIdleMs = 4_000

/** A connection as an agent gets it. */
export interface Lent {
  /** It has a loopback `base_url`, and a token as its `api_key`. */
  readonly connection: HarnessConnection
  /** The gateway of a connection of which nothing is lent, which the agent has to reach by itself; absent where none is known, and for a loan. */
  readonly gateway?: URL
  /**
   * Makes the token good for the key of the same connection, which may have got another one since it was lent. It ends with the scope, which
   * also breaks off requests that are under way. The observer hears of every model call that is made meanwhile, of the last one before the
   * scope has closed.
   */
  readonly open: (connection: HarnessConnection, observer?: CallObserver) => Effect.Effect<void, never, Scope.Scope>
}

/**
 * Lends credentials to agents. An agent gets a token that is good on loopback, and only while one of its turns runs. The proxy puts the
 * credential in the place of the token only on the way to the gateway.
 */
export class CredentialProxy extends Context.Tag("@reins/core/connections/CredentialProxy")<
  CredentialProxy,
  {
    /**
     * Lends a connection until the scope closes. A connection without an `api_key` comes back unchanged. When neither the connection nor the
     * manifest of its kind names a base URL, the connection comes back without its key.
     */
    readonly lend: (connection: HarnessConnection) => Effect.Effect<Lent, never, Scope.Scope>
  }
>() {
  static readonly layer = Layer.scoped(
    CredentialProxy,
    Effect.gen(function* () {
      const kinds = yield* ConnectionKinds
      const scope = yield* Effect.scope
      const outbound = yield* Outbound
      const pools = yield* Effect.acquireRelease(
        Effect.sync(() => outbound.agents({ keepAlive: true, timeout: gatewayIdleMs })),
        (agents) =>
          Effect.sync(() => {
            agents.http.destroy()
            agents.https.destroy()
          })
      )
      const loans: Loan.Loans = new Map()
      const started = yield* SynchronizedRef.make(Option.none<number>())

      const port = SynchronizedRef.modifyEffect(started, (running) =>
        Effect.map(
          Option.match(running, {
            onNone: () => Scope.extend(listen(serve(loans, pools)), scope),
            onSome: Effect.succeed
          }),
          (open) => [open, Option.some(open)] as const
        )
      )
      const gatewayOf = ({ kind, settings }: HarnessConnection) => {
        const url = settings["base_url"] ?? kinds.providerOf(kind)?.credential?.default_base_url ?? ""
        return /^https?:/i.test(url) && URL.canParse(url) ? new URL(url) : undefined
      }

      return CredentialProxy.of({
        lend: fn("CredentialProxy.lend")(function* (connection) {
          const { api_key: key, ...otherSecrets } = connection.secrets
          const gateway = gatewayOf(connection)
          if (key === undefined) return { ...asIs(connection), ...(gateway && { gateway }) }
          if (gateway === undefined) return asIs({ ...connection, secrets: otherSecrets })
          const loan = yield* Loan.make(loans, gateway)
          const relayPort = yield* port
          const relay = `http://127.0.0.1:${relayPort}`
          const lent: Lent = {
            connection: {
              ...connection,
              relayPort,
              told: toldOf(relay, loan),
              settings: { ...connection.settings, base_url: `${relay}${loan.path}` },
              secrets: { ...otherSecrets, api_key: loan.token }
            },
            open: ({ secrets }, observer) => Loan.openLoan(loan, secrets["api_key"] ?? key, observer)
          }
          return lent
        })
      })
    })
  )
}

const asIs = (connection: HarnessConnection): Lent => ({ connection, open: () => Effect.void })

/** Relays a request to the gateway of its loan. A refusal says nothing about any loan. */
const serve = (loans: Loan.Loans, pools: GuardedAgents) => (request: IncomingMessage, response: ServerResponse) => {
  const url = request.url ?? ""
  const loan = Loan.findLoan(loans, url, request.headers)
  if (loan === undefined)
    return refuse(response, 401, "authentication_error", "The token is not valid, or no turn of it runs.")
  if (!sendable(loan)) return refuse(response, 401, "authentication_error", "The stored API key cannot be a header.")
  if (request.headers.upgrade !== undefined) {
    return refuse(response, 400, "invalid_request_error", "Connections cannot be upgraded.")
  }
  if (!methods.has(request.method ?? "")) {
    return refuse(response, 405, "invalid_request_error", "This method is not passed on.")
  }
  const target = Loan.targetOf(loan, url)
  if (target === undefined) {
    return refuse(response, 400, "invalid_request_error", "The path does not stay below the connection's base_url.")
  }
  const observer = protocolOf(request.method, target) === undefined ? undefined : loan.observer
  const refusal = observer?.refusal()
  if (refusal !== undefined) return refuse(response, refusal.status, refusal.type, refusal.message)
  // From now on the end of the turn breaks the answer off, also while the call is held.
  loan.answers.add(response)
  response.once("close", () => loan.answers.delete(response))
  const exchange = { loan, target, request, response }
  if (observer?.admit === undefined) return relay(exchange, pools)
  void hold(exchange, observer.admit, observer, pools)
}

/** Relays a model call once it has leave. An agent that has gone by then gets nothing, and nothing leaves. */
const hold = async (
  exchange: Exchange,
  admit: NonNullable<CallObserver["admit"]>,
  observer: CallObserver,
  pools: GuardedAgents
): Promise<void> => {
  const { request, response } = exchange
  const length = Number(request.headers["content-length"] ?? Number.NaN)
  const answer = await admit(Number.isSafeInteger(length) ? length : null)
  if ("status" in answer) return refuse(response, answer.status, answer.type, answer.message)
  if (response.destroyed) return observer.withdrawn?.(answer)
  relay({ ...exchange, leave: answer }, pools)
}

/** An agent reads the address of the relay, and people read that of the gateway. */
const toldOf = (relay: string, { gateway, path }: Loan.Loan): Readonly<Record<string, string>> => ({
  [`${relay}${path}`]: `${gateway.origin}${gateway.pathname}`.replace(/\/+$/, ""),
  [relay]: gateway.origin,
  [new URL(relay).host]: gateway.host
})

const sendable = ({ key }: Loan.OpenLoan): boolean => /^[\x20-\x7e]+$/.test(Redacted.value(key))

const hangUp = (_request: IncomingMessage, socket: Duplex) => socket.destroy()

/** Starts a server on a free port of loopback and gives the port. The server and its connections do not keep the process alive. */
const listen = (listener: http.RequestListener) =>
  Effect.acquireRelease(
    Effect.async<http.Server>((resume) => {
      // A long body may take longer than any fixed time. Only the headers have to arrive soon.
      const limits = { requestTimeout: 0, headersTimeout: 60_000, keepAliveTimeout: agentIdleMs }
      const server = http.createServer(limits, listener).on("connect", hangUp)
      server.on("connection", (socket) => socket.unref())
      server.once("error", (error) => resume(Effect.die(error)))
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server))).unref()
    }),
    (server) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  ).pipe(
    Effect.map((server) => {
      const address = server.address()
      return typeof address === "object" && address !== null ? address.port : 0
    })
  )
