import { randomBytes, timingSafeEqual } from "node:crypto"
import http from "node:http"
import https from "node:https"
import type { Duplex } from "node:stream"
import { Context, Effect, Layer, Option, Redacted, type Scope, SynchronizedRef } from "effect"
import { Manifests } from "../catalog/Manifests.js"
import type { HarnessConnection } from "../harness/TurnInput.js"
import { presentsOnly } from "./CredentialHeaders.js"
import { type GatewayAgents, refuse, relay } from "./GatewayRelay.js"

/** Of all methods only these pass; TRACE would have the gateway say the credential back. */
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** Longer than the HTTP clients of agents keep a connection, so that none is closed just as it is used again. */
const keepAliveMs = 120_000

/** Gateways close idle connections after 5 seconds and more. */
const gatewayIdleMs = 4_000

/** Lends credentials to agents. An agent gets a token that is good here and nowhere else; the credential is put in its place on the way. */
export class CredentialProxy extends Context.Tag("@reins/core/connections/CredentialProxy")<
  CredentialProxy,
  {
    /**
     * The same connection with a `base_url` on loopback and a token for its `api_key`, both good until the scope closes; that also
     * breaks off what is still under way. A connection without an `api_key` is given back as it is, and one that says neither by itself
     * nor by its kind where the key belongs is given back without the key.
     */
    readonly lend: (connection: HarnessConnection) => Effect.Effect<HarnessConnection, never, Scope.Scope>
  }
>() {
  static readonly layer = Layer.scoped(
    CredentialProxy,
    Effect.gen(function* () {
      const manifests = yield* Manifests
      const agents = yield* gatewayAgents
      const scope = yield* Effect.scope
      const loans = new Map<string, Loan>()
      const started = yield* SynchronizedRef.make(Option.none<number>())

      const port = SynchronizedRef.modifyEffect(started, (running) =>
        Effect.map(
          Option.match(running, {
            onSome: Effect.succeed,
            onNone: () => Effect.provideService(listen(loans, agents), Effect.scopeTag, scope)
          }),
          (port) => [port, Option.some(port)] as const
        )
      )

      const baseUrlOf = (connection: HarnessConnection): string | undefined =>
        connection.settings["base_url"] ??
        manifests.list.find(({ credential }) => credential?.connection_kind === connection.kind)?.credential
          ?.default_base_url

      return CredentialProxy.of({
        lend: Effect.fn("CredentialProxy.lend")(function* (connection) {
          const { api_key: key, ...otherSecrets } = connection.secrets
          if (key === undefined) return connection
          const baseUrl = baseUrlOf(connection)
          if (baseUrl === undefined || !URL.canParse(baseUrl)) return { ...connection, secrets: otherSecrets }
          const loan = yield* open(loans, new URL(baseUrl), key)
          return {
            ...connection,
            settings: { ...connection.settings, base_url: `http://127.0.0.1:${yield* port}${loan.path}` },
            secrets: { ...otherSecrets, api_key: loan.token }
          }
        })
      })
    })
  )
}
