import { hash } from "node:crypto"
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
  /** Fields of its metadata in the place of the usual ones. */
  about: Readonly<Record<string, unknown>>
  /** True for one that gives no refresh token to a person who logs in. */
  isStatic: boolean
  /** Fields of the answer to a registration besides those that it was sent. */
  registered: Readonly<Record<string, unknown>>
  /** The registrations in their order. */
  readonly registrations: ReadonlyArray<Readonly<Record<string, unknown>>>
  /** The tokens that it was asked to end. */
  readonly ended: ReadonlyArray<URLSearchParams>
  /** A person opens an address of a login and allows it. Gives the address that the browser is led to, with `changes` in its query. */
  readonly allow: (address: string, changes?: Readonly<Record<string, string | undefined>>) => URL
}

/** Starts an authorization server that lives until the scope closes. Each of its tokens has `word` in it. */
export const authorizationServer = (word: string): Effect.Effect<AuthorizationServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    let count = 0
    const forms: Array<URLSearchParams> = []
    const codes = new Map<string, URLSearchParams>()
    const registrations: Array<Record<string, unknown>> = []
    const ended: Array<URLSearchParams> = []
    const server = {
      forms,
      registrations,
      ended,
      about: {},
      registered: {},
      isStatic: false,
      allow: (address: string, changes: Readonly<Record<string, string | undefined>> = {}) => {
        const asked = new URL(address).searchParams
        const code = `${word}-code-${codes.size}`
        codes.set(code, asked)
        const back = new URL(asked.get("redirect_uri") ?? "")
        const query = { code, state: asked.get("state") ?? undefined, iss: local.url, ...changes }
        for (const [name, value] of Object.entries(query)) if (value !== undefined) back.searchParams.set(name, value)
        return back
      },
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
      const isLogin = form.get("grant_type") === "authorization_code"
      if (isLogin && !isProved(form)) return json(response, 400, { error: "invalid_grant" })
      if (isRefresh && form.get("refresh_token") !== server.refreshToken)
        return json(response, 400, { error: "invalid_grant", error_description: form.get("refresh_token") })
      const number = ++count
      const renews = isRefresh || (isLogin && !server.isStatic)
      if (renews) server.refreshToken = `${word}-refresh-${number}`
      server.heard()
      await server.hold
      if (server.manner === "lost") return response.destroy()
      const access_token = `${word}-access-${number}`
      server.good.add(access_token)
      const next = renews ? { refresh_token: server.refreshToken } : {}
      return json(response, 200, { access_token, token_type: "Bearer", expires_in: 3600, ...next })
    }

    /** A code counts once, for its client, its address and its verifier. */
    const isProved = (form: URLSearchParams): boolean => {
      const code = form.get("code") ?? ""
      const asked = codes.get(code)
      codes.delete(code)
      const challenge = hash("sha256", form.get("code_verifier") ?? "", "base64url")
      return (
        asked?.get("code_challenge") === challenge &&
        ["client_id", "redirect_uri", "resource"].every((name) => asked.get(name) === form.get(name))
      )
    }

    const local = yield* localServer(({ body, method, path }, response) => {
      if (method === "POST" && path === "/token") return void grant(new URLSearchParams(body), response)
      if (method === "GET" && path.startsWith("/authorize?"))
        return response.writeHead(302, { location: server.allow(`${local.url}${path}`).href }).end()
      if (method === "POST" && path === "/register") {
        registrations.push(JSON.parse(body))
        return json(response, 201, {
          client_id: `${word}-client-${registrations.length}`,
          ...JSON.parse(body),
          ...server.registered
        })
      }
      if (method === "POST" && path === "/revoke") {
        ended.push(new URLSearchParams(body))
        return response.writeHead(200).end()
      }
      if (path !== "/.well-known/oauth-authorization-server") return json(response, 404, {})
      const issuer = server.manner === "misnamed" ? "https://bank.example" : local.url
      return json(response, 200, {
        issuer,
        token_endpoint: `${local.url}/token`,
        token_endpoint_auth_methods_supported: ["none", "client_secret_post"],
        authorization_endpoint: `${local.url}/authorize`,
        registration_endpoint: `${local.url}/register`,
        revocation_endpoint: `${local.url}/revoke`,
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: true,
        ...server.about
      })
    })
    return Object.assign(server, { url: local.url })
  })
