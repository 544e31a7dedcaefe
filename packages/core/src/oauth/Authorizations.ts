import { CoreConfig } from "@reins/base/base/CoreConfig"
import { fn } from "@reins/base/base/Traced"
import { WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { fromNow } from "@reins/base/domain/Timestamp"
import * as Token from "@reins/base/secrets/Token"
import { Vault } from "@reins/base/secrets/Vault"
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { Access, type ScopeMissing, type Unseen } from "../access/Access.js"
import { WorkspaceStore } from "../identity/WorkspaceStore.js"
import { Journal } from "../store/Journal.js"
import type { PolicyRefusal } from "../store/Oversight.js"
import { type AuthorizationRequest, readRequest, scopesUpTo } from "./AuthorizationRequest.js"
import type { OauthClient } from "./ClientMetadata.js"
import { OauthClients } from "./OauthClients.js"
import type { AppScope } from "./OauthGrant.js"
import { OauthRefused } from "./OauthRefused.js"
import { OauthStore } from "./OauthStore.js"
import { fitsRedirect, placeOf, type RedirectPlace } from "./Redirects.js"

/** The days that a person can let an app in for. */
export const lastingDays = [1, 7, 30, 90] as const

/** A code is good for so long, and a page that asks for consent too. */
const codeMs = 60_000
const pageMs = 15 * 60_000

/** The path of the one resource of this server, below its public URL. */
export const resourcePath = "/mcp"

/** All that a person has to see before an app is let in. */
export interface Consent {
  readonly client: Pick<OauthClient, "name" | "host">
  /** The place that the answer goes to. */
  readonly place: RedirectPlace
  readonly redirectUri: string
  /** The most that the app asks for. */
  readonly scopes: ReadonlyArray<AppScope>
  readonly workspaces: ReadonlyArray<{ readonly id: string; readonly name: string; readonly role: string }>
  /** Proves that this page was shown to this login for this request. It comes back with the decision. */
  readonly proof: string
}

/** The decision of a person, as the form of the page sends it. */
export interface Decision {
  readonly query: string
  readonly proof: string
  readonly workspaceId: string
  /** The highest scope that the person gives. */
  readonly scope: AppScope
  readonly isUnattended: boolean
  readonly lastsDays: number
}

/** Lets apps in, when a person who is logged in says so. Nobody is sent to an address of an app before that person has decided. */
export class Authorizations extends Context.Tag("@reins/core/oauth/Authorizations")<
  Authorizations,
  {
    /** The one audience of tokens. */
    readonly resource: string
    /** The name of this authorization server: the public URL. */
    readonly issuer: string
    /** Reads what an app asks for, for a login. Fails for an app that is not known, and for a request that it may not make. */
    readonly ask: (principal: Principal, query: string) => Effect.Effect<Consent, OauthRefused>
    /** Lets the app in. Gives the address to send the browser to, which has a code that is good once, for a minute. */
    readonly allow: (
      principal: Principal,
      decision: Decision
    ) => Effect.Effect<string, OauthRefused | Unseen | ScopeMissing | PolicyRefusal>
    /** Gives the address that tells the app of the refusal. */
    readonly refuse: (
      principal: Principal,
      decision: Pick<Decision, "query" | "proof">
    ) => Effect.Effect<string, OauthRefused>
  }
>() {
  static readonly layer = Layer.effect(
    Authorizations,
    Effect.gen(function* () {
      const access = yield* Access
      const clients = yield* OauthClients
      const { publicUrl: issuer } = yield* CoreConfig
      const journal = yield* Journal
      const store = yield* OauthStore
      const vault = yield* Vault
      const workspaces = yield* WorkspaceStore
      const resource = `${issuer}${resourcePath}`

      const read = Effect.fnUntraced(function* (principal: Principal, query: string) {
        const request = yield* readRequest(new URLSearchParams(query), resource)
        const client = yield* clients.find(request.clientId, principal.accountId)
        if (!fitsRedirect(request.redirectUri, client.redirectUris)) return yield* wrongRedirect
        return { request, client }
      })

      const proofText = (loginId: string, madeAt: string, query: string) => [loginId, madeAt, query].join("\n")

      /** Reads the request again that a page was shown for. */
      const proved = Effect.fnUntraced(function* (
        principal: Principal,
        { proof, query }: Pick<Decision, "query" | "proof">
      ) {
        const loginId = yield* loginOf(principal)
        const [, madeAt = "", mac = ""] = /^(\d{1,15})~(.+)$/.exec(proof) ?? []
        const age = (yield* Clock.currentTimeMillis) - Number(madeAt)
        const isOwn = madeAt !== "" && vault.verifyMac(purpose, proofText(loginId, madeAt, query), mac)
        if (!isOwn || age > pageMs) return yield* stale
        return { loginId, ...(yield* read(principal, query)) }
      })

      return Authorizations.of({
        resource,
        issuer,
        ask: fn("Authorizations.ask")(function* (principal, query) {
          const loginId = yield* loginOf(principal)
          const { client, request } = yield* read(principal, query)
          const madeAt = String(yield* Clock.currentTimeMillis)
          return {
            client,
            place: placeOf(request.redirectUri),
            redirectUri: request.redirectUri,
            scopes: request.scopes,
            workspaces: yield* workspaces.allOf(principal.accountId),
            proof: `${madeAt}~${vault.mac(purpose, proofText(loginId, madeAt, query))}`
          }
        }),
        allow: fn("Authorizations.allow")(function* (principal, decision) {
          const { client, loginId, request } = yield* proved(principal, decision)
          const { isUnattended, lastsDays, scope, workspaceId } = decision
          const isKnownTime = lastingDays.some((days) => days === lastsDays)
          if (!request.scopes.includes(scope) || !isKnownTime || (isUnattended && scope !== "write"))
            return yield* notAsked
          const code = `roc_${Redacted.value(yield* Token.random)}`
          const expires_at = yield* fromNow(codeMs)
          yield* journal.command(
            "Authorizations.allow",
            { by: principal, about: { type: "workspace", id: workspaceId } },
            Effect.gen(function* () {
              yield* access.requireScope(principal, "admin")
              yield* access.read(principal, workspaceId)
              yield* store.noteAllowed(client.id)
              yield* store.insertCode({
                hash: Token.digest(Redacted.make(code)),
                account_id: principal.accountId,
                workspace_id: WorkspaceId.make(workspaceId),
                login_id: loginId,
                client_id: client.id,
                client_name: client.name,
                client_host: client.host,
                redirect_uri: request.redirectUri,
                resource,
                challenge: request.challenge,
                scopes: scopesUpTo(scope),
                asked_scopes: request.scopes,
                unattended: isUnattended ? 1 : 0,
                lasts_days: lastsDays,
                expires_at,
                used_at: null,
                grant_id: null
              })
            })
          )
          return answerTo(request, issuer, { code })
        }),
        refuse: fn("Authorizations.refuse")(function* (principal, given) {
          const { request } = yield* proved(principal, given)
          return answerTo(request, issuer, { error: "access_denied" })
        })
      })
    })
  )
}

const purpose = "oauth consent"

/** Only a person decides. A key of a program does not. */
const loginOf = ({ via }: Principal): Effect.Effect<string, OauthRefused> =>
  via.kind === "login" ? Effect.succeed(via.loginId) : Effect.fail(stale)

/** The address of the app with the answer. `iss` tells the app which server has answered (RFC 9207). */
const answerTo = (
  { redirectUri, state }: AuthorizationRequest,
  issuer: string,
  answer: { readonly code: string } | { readonly error: "access_denied" }
): string => {
  const url = new URL(redirectUri)
  for (const name of ["code", "error", "error_description", "state", "iss"]) url.searchParams.delete(name)
  for (const [name, value] of Object.entries(answer)) url.searchParams.set(name, value)
  if (state !== null) url.searchParams.set("state", state)
  url.searchParams.set("iss", issuer)
  return url.href
}

const wrongRedirect = new OauthRefused({
  error: "invalid_redirect_uri",
  description: "The app asks to be answered at an address that it did not name before."
})

const stale = new OauthRefused({
  error: "invalid_request",
  description: "This page is too old, or belongs to another login. Begin again in the app."
})

const notAsked = new OauthRefused({
  error: "invalid_request",
  description: "The app did not ask for as much. Nothing was allowed."
})
