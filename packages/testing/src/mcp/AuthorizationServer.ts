import type { ServerResponse } from "node:http"
import { Effect, type Scope } from "effect"
import { json, localServer } from "../connections/LocalServer.js"

/** The ways in which an authorization server may misbehave. */
export type Misgrant =
  | "good"
  /** Takes the refresh token, and drops the connection before it has answered. */
  | "lost"
  /** Fails with a status of its own trouble. */
  | "down"
  /** Leads each request for a token to `elsewhere`. */
  | "redirect"
  /** Its metadata has the name of another authorization server. */
  | "misnamed"

/** An authorization server of OAuth 2 that rotates its refresh tokens, with the metadata of RFC 8414. */
export interface AuthorizationServer {
  /** Its name. */
  readonly url: string
  /** The forms that it was sent for tokens, in their order. */
  readonly forms: ReadonlyArray<URLSearchParams>
  /** The access tokens that are good. */
  readonly good: Set<string>
  /** The refresh token that is good; a client may have another one alone by a use of it. */
  refreshToken: string
  manner: Misgrant
  elsewhere: string
  /** Waits with each answer for this. */
  hold: Promise<void>
  /** Hears that a token was taken, before it is answered. */
  heard: () => void
}

/** Starts an authorization server that lives until the scope closes. Each of its tokens has `word` in it. */
export const authorizationServer = (word: string): Effect.Effect<AuthorizationServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    let count = 0
    const forms: Array<URLSearchParams> = []
    const server = {
      forms,
      good: new Set<string>(),
      refreshToken: `${word}-refresh-0`,
      manner: "good" as Misgrant,
      elsewhere: "",
      hold: Promise.resolve(),
      heard: () => {}
    }

    const grant = async (form: URLSearchParams, response: ServerResponse): Promise<unknown> => {
      forms.push(form)
      if (server.manner === "redirect") return response.writeHead(307, { location: server.elsewhere }).end()
      if (server.manner === "down") return json(response, 503, { error: "temporarily_unavailable" })
      const isRefresh = form.get("grant_type") === "refresh_token"
      if (isRefresh && form.get("refresh_token") !== server.refreshToken)
        return json(response, 400, { error: "invalid_grant", error_description: form.get("refresh_token") })
      const number = ++count
      if (isRefresh) server.refreshToken = `${word}-refresh-${number}`
      server.heard()
      await server.hold
      if (server.manner === "lost") return response.destroy()
      const access_token = `${word}-access-${number}`
      server.good.add(access_token)
      const next = isRefresh ? { refresh_token: server.refreshToken } : {}
      return json(response, 200, { access_token, token_type: "Bearer", expires_in: 3600, ...next })
    }

    const local = yield* localServer(({ body, method, path }, response) => {
      if (method === "POST" && path === "/token") return void grant(new URLSearchParams(body), response)
      if (path !== "/.well-known/oauth-authorization-server") return json(response, 404, {})
      const issuer = server.manner === "misnamed" ? "https://bank.example" : local.url
      return json(response, 200, {
        issuer,
        token_endpoint: `${local.url}/token`,
        token_endpoint_auth_methods_supported: ["none", "client_secret_post"]
      })
    })
    return Object.assign(server, { url: local.url })
  })
