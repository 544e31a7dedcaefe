import type { IncomingMessage, ServerResponse } from "node:http"
import { fn } from "@reins/base/base/Traced"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import { Manifests } from "../../harness/Manifests.js"
import type { HarnessConnection } from "../../harness/TurnInput.js"
import { Outbound } from "../../outbound/Outbound.js"
import { Loans, type LoanTerms, refuseToken } from "../Loans.js"
import { refuse } from "../Refusal.js"
import * as GatewayLoan from "./GatewayLoan.js"
import type * as GatewayRelay from "./GatewayRelay.js"
import { type CallObserver, protocolOf } from "./ModelCall.js"

/**
 * The methods that are passed on. TRACE is left out because the gateway would answer with the key, and CONNECT because it leads to any host.
 */
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** Shorter than gateways keep a connection, so that none is closed that is about to be used again. */
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
export class CredentialProxy extends Context.Tag("@reins/core/relay/gateway/CredentialProxy")<
  CredentialProxy,
  {
    /**
     * Lends a connection until the scope closes. A connection without an `api_key` comes back unchanged. When neither the connection nor the
     * manifest of its kind names a base URL, the connection comes back without its key.
     */
    readonly lend: (connection: HarnessConnection) => Effect.Effect<Lent, never, Scope.Scope>
  }
>() {
  /** `pieceMs` is the longest time between two pieces of a request of an agent. */
  static readonly layerWith = ({ pieceMs }: { readonly pieceMs: number }) =>
    Layer.scoped(
      CredentialProxy,
      Effect.gen(function* () {
        const manifests = yield* Manifests
        const loans = yield* Loans
        const outbound = yield* Outbound
        const pools = yield* Effect.acquireRelease(
          Effect.sync(() => outbound.agents({ keepAlive: true, timeout: gatewayIdleMs })),
          (agents) =>
            Effect.sync(() => {
              agents.http.destroy()
              agents.https.destroy()
            })
        )
        const defaultOf = (kind: string) =>
          manifests.list.find(({ credential }) => credential?.connection_kind === kind)?.credential?.default_base_url
        const gatewayOf = ({ kind, settings }: HarnessConnection) => {
          const url = settings["base_url"] ?? defaultOf(kind) ?? ""
          return /^https?:/i.test(url) && URL.canParse(url) ? new URL(url) : undefined
        }

        return CredentialProxy.of({
          lend: fn("CredentialProxy.lend")(function* (connection) {
            const { api_key: key, ...otherSecrets } = connection.secrets
            const gateway = gatewayOf(connection)
            if (key === undefined) return { ...asIs(connection), ...(gateway && { gateway }) }
            if (gateway === undefined) return asIs({ ...connection, secrets: otherSecrets })
            // Loaded with the first loan.
            const { relay } = yield* Effect.promise(() => import("./GatewayRelay.js"))
            const terms: GatewayLoan.GatewayTerms = { gateway, key: undefined, observer: undefined, calls: new Set() }
            const loan = yield* loans.lend({
              answer: answering(terms, (exchange) => relay(exchange, pools, pieceMs)),
              closing: () => GatewayLoan.cutCalls(terms),
              readsQuery: true
            })
            const address = `http://127.0.0.1:${loan.port}`
            const path = GatewayLoan.pathOf(loan.path, gateway)
            const lent: Lent = {
              connection: {
                ...connection,
                relayPort: loan.port,
                told: toldOf(address, path, gateway),
                settings: { ...connection.settings, base_url: `${address}${path}` },
                secrets: { ...otherSecrets, api_key: loan.token }
              },
              open: ({ secrets }, observer) =>
                Effect.zipRight(GatewayLoan.open(terms, secrets["api_key"] ?? key, observer), loan.open)
            }
            return lent
          })
        })
      })
    )

  static readonly layer = CredentialProxy.layerWith({ pieceMs: 30_000 })
}

const asIs = (connection: HarnessConnection): Lent => ({ connection, open: () => Effect.void })

type Relay = (exchange: GatewayRelay.Exchange) => void

/** Relays a request to the gateway of its loan. */
const answering =
  (terms: GatewayLoan.GatewayTerms, relay: Relay) =>
  (request: IncomingMessage, response: ServerResponse, of: LoanTerms) => {
    const { key } = terms
    if (key === undefined) return refuseToken(response)
    const loan: GatewayLoan.OpenLoan = { ...of, ...terms, key }
    if (!isSendable(key)) return refuse(response, 401, "authentication_error", "The stored API key cannot be a header.")
    if (!methods.has(request.method ?? "")) {
      return refuse(response, 405, "invalid_request_error", "This method is not passed on.")
    }
    const target = GatewayLoan.targetOf(loan, request.url ?? "")
    if (target === undefined) {
      return refuse(response, 400, "invalid_request_error", "The path does not stay below the connection's base_url.")
    }
    const observer = protocolOf(request.method, target) === undefined ? undefined : loan.observer
    const refusal = observer?.refusal()
    if (refusal !== undefined) return refuse(response, refusal.status, refusal.type, refusal.message)
    const exchange = { loan, target, request, response }
    if (observer?.admit === undefined) return relay(exchange)
    void hold(exchange, observer.admit, observer, relay)
  }

/** Relays a model call once it has leave. An agent that has gone by then gets nothing, and nothing leaves. */
const hold = async (
  exchange: GatewayRelay.Exchange,
  admit: NonNullable<CallObserver["admit"]>,
  observer: CallObserver,
  relay: Relay
): Promise<void> => {
  const { request, response } = exchange
  const length = Number(request.headers["content-length"] ?? Number.NaN)
  const answer = await admit(Number.isSafeInteger(length) ? length : null)
  if ("status" in answer) return refuse(response, answer.status, answer.type, answer.message)
  if (response.destroyed) return observer.withdrawn?.(answer)
  relay({ ...exchange, leave: answer })
}

/** An agent reads the address of the relay, and people read that of the gateway. */
const toldOf = (relay: string, path: string, gateway: URL): Readonly<Record<string, string>> => ({
  [`${relay}${path}`]: `${gateway.origin}${gateway.pathname}`.replace(/(?<!\/)\/+$/, ""),
  [relay]: gateway.origin,
  [new URL(relay).host]: gateway.host
})

const isSendable = (key: Redacted.Redacted): boolean => /^[\x20-\x7e]+$/.test(Redacted.value(key))
