import { hash, timingSafeEqual } from "node:crypto"
import { fn } from "@reins/base/base/Traced"
import { newId, OauthGrantId } from "@reins/base/domain/Ids"
import { type AccountPrincipal, stranger } from "@reins/base/domain/Principal"
import { fromNow, now, toMillis } from "@reins/base/domain/Timestamp"
import * as Token from "@reins/base/secrets/Token"
import { Vault } from "@reins/base/secrets/Vault"
import { Context, Effect, Layer, Redacted } from "effect"
import { ApiKeyStore } from "../identity/ApiKeyStore.js"
import { ApiKeys } from "../identity/ApiKeys.js"
import { makeIssue } from "../identity/IssueKey.js"
import { LoginStore } from "../identity/LoginStore.js"
import { Journal } from "../store/Journal.js"
import { isResource, knownScopes } from "./AuthorizationRequest.js"
import { Authorizations } from "./Authorizations.js"
import { OauthClients, unknownClient } from "./OauthClients.js"
import { type AppScope, appScopes } from "./OauthGrant.js"
import { OauthRefused } from "./OauthRefused.js"
import { type CodeRow, type GrantRow, OauthStore } from "./OauthStore.js"

/** An access token is good for so many seconds. */
export const accessSeconds = 3600

/** The same refresh token gives the same answer for so long, because an answer can be lost. Later it is a replay. */
const retryMs = 10_000

/** The answer to a request for tokens (RFC 6749, 5.1). */
export interface TokenAnswer {
  readonly access_token: string
  readonly token_type: "Bearer"
  readonly expires_in: number
  readonly refresh_token: string
  readonly scope: string
}

/** The fields of a request to the token address. An absent field is undefined. */
export type TokenRequest = Readonly<
  Record<
    "grant_type" | "client_id" | "code" | "redirect_uri" | "code_verifier" | "refresh_token" | "scope" | "resource",
    string | undefined
  >
>

/** The tokens of apps. They are stored as digests. */
export class OauthTokens extends Context.Tag("@reins/core/oauth/OauthTokens")<
  OauthTokens,
  {
    /**
     * Gives tokens for a code, once, or for a refresh token, which a new one replaces. A code that comes again ends the access that it has given. So
     * does a refresh token that comes again after 10 seconds. Fails with `invalid_client` for an app whose registration is gone.
     */
    readonly issue: (request: TokenRequest) => Effect.Effect<TokenAnswer, OauthRefused>
    /** Ends a token (RFC 7009). With a refresh token all of the access ends. A token that nobody has is no error. */
    readonly revoke: (request: {
      readonly token: string
      readonly clientId: string
    }) => Effect.Effect<void, OauthRefused>
    /**
     * The principal that calls with an access token. Undefined for a token that is unknown, expired or of another audience, and when the access has
     * ended with its account, its membership or by itself.
     */
    readonly authenticate: (token: Redacted.Redacted) => Effect.Effect<AccountPrincipal | undefined>
  }
>() {
  static readonly layer = Layer.effect(
    OauthTokens,
    Effect.gen(function* () {
      const { resource } = yield* Authorizations
      const apiKeys = yield* ApiKeys
      const clients = yield* OauthClients
      const journal = yield* Journal
      const store = yield* OauthStore
      const { redeem, end } = yield* makeSteps
      const rotate = yield* makeRotation

      const issued = Effect.fnUntraced(function* (request: TokenRequest) {
        const { client_id: clientId } = request
        if (clientId === undefined) return yield* noClient
        // A client that learns this registers anew by itself. `invalid_grant` would have it ask its person with the id that is gone.
        if (!(yield* clients.isKnown(clientId))) return yield* unknownClient
        switch (request.grant_type) {
          case "authorization_code":
            return yield* journal.command(
              "OauthTokens.redeem",
              { by: stranger, about: { type: "oauth_grant", id: null } },
              redeem(request, clientId)
            )
          case "refresh_token":
            return yield* journal.command(
              "OauthTokens.rotate",
              { by: stranger, about: { type: "oauth_grant", id: null } },
              rotate(request, clientId)
            )
          default:
            return yield* noSuchGrant
        }
      })

      return OauthTokens.of({
        issue: fn("OauthTokens.issue")(function* (request) {
          if (request.resource !== undefined && !isResource(request.resource, resource)) return yield* wrongResource
          const outcome = yield* issued(request)
          return "refused" in outcome ? yield* outcome.refused : outcome
        }),
        revoke: fn("OauthTokens.revoke")(function* ({ clientId, token }) {
          const digest = Token.digest(Redacted.make(token))
          const refresh = yield* store.findToken(digest, "refresh")
          const found = refresh ?? (yield* store.findToken(digest, "access"))
          if (found === undefined) return
          if (found.grant.client_id !== clientId) return yield* notYours
          yield* journal.command(
            "OauthTokens.revoke",
            { by: stranger, about: { type: "oauth_grant", id: found.grant.id } },
            refresh === undefined ? store.removeToken(digest) : end(refresh.grant)
          )
        }),
        authenticate: fn("OauthTokens.authenticate")(function* (token) {
          const found = yield* store.findToken(Token.digest(token), "access")
          if (found === undefined || found.grant.resource !== resource) return undefined
          const { id: grantId, key_id, unattended } = found.grant
          return yield* apiKeys.authenticateApp(key_id, { grantId, isUnattended: unattended === 1 })
        })
      })
    })
  )
}

/** True for the text of an access token. It is decided without the database. */
export const isAccessToken = (token: string): boolean => /^roa_[A-Za-z0-9_-]{43}$/.test(token)

/** The refusal of a replay is committed, because the commit ends the access too. */
interface Replayed {
  readonly refused: OauthRefused
}

const makeEnd = Effect.gen(function* () {
  const keys = yield* ApiKeyStore
  const store = yield* OauthStore
  return Effect.fnUntraced(function* ({ id, key_id }: Pick<GrantRow, "id" | "key_id">) {
    yield* keys.revokeApp(key_id)
    yield* store.removeTokensOf(id)
  })
})

/** The steps of a code. */
const makeSteps = Effect.gen(function* () {
  const logins = yield* LoginStore
  const store = yield* OauthStore
  const { issueForApp } = yield* makeIssue
  const end = yield* makeEnd
  const give = yield* makeGive

  /** True when the code was given to this client, for this address, and the client shows the secret of its challenge. */
  const fits = (code: CodeRow, request: TokenRequest, clientId: string): boolean =>
    code.client_id === clientId &&
    code.redirect_uri === request.redirect_uri &&
    isVerifier(request.code_verifier ?? "", code.challenge)

  const redeem = Effect.fnUntraced(function* (request: TokenRequest, clientId: string) {
    const code = yield* store.lockCode(Token.digest(Redacted.make(request.code ?? "")))
    if (code === undefined) return yield* badCode
    if (code.used_at !== null) {
      const grant = code.grant_id === null ? undefined : yield* store.findGrant(code.grant_id)
      if (grant !== undefined) yield* end(grant)
      const replayed: Replayed = { refused: usedCode }
      return replayed
    }
    if (code.expires_at <= (yield* now) || !fits(code, request, clientId)) return yield* badCode
    // The login may have ended since, as it does with a new password.
    if (!(yield* logins.lasts(code.login_id))) return yield* badCode
    const expires_at = yield* fromNow(code.lasts_days * 86_400_000)
    const { account_id, asked_scopes, client_host, client_id, client_name, resource, unattended, workspace_id } = code
    const wanted = { name: client_name, scopes: code.scopes, workspaceId: workspace_id }
    const key_id = yield* Effect.mapError(issueForApp(account_id, wanted, expires_at), () => badCode)
    const id = yield* newId(OauthGrantId)
    const created_at = yield* now
    const app = { client_id, client_name, client_host, asked_scopes }
    const grant = { id, key_id, account_id, workspace_id, ...app, resource, unattended, created_at, expires_at }
    yield* store.insertGrant(grant)
    yield* store.useCode(code.hash, id)
    const [access, refresh] = [yield* Token.random, yield* Token.random]
    return yield* give(grant, code.scopes, {
      access: Redacted.value(access),
      refresh: Redacted.value(refresh)
    })
  })

  return { redeem, end }
})

/** Stores the digests of two tokens, and gives the answer that has them. */
const makeGive = Effect.map(OauthStore, (store) =>
  Effect.fnUntraced(function* (
    { expires_at, id }: GrantRow,
    scopes: ReadonlyArray<string>,
    { access, refresh }: { readonly access: string; readonly refresh: string }
  ) {
    const answer = answerOf(access, refresh, scopes)
    yield* store.insertToken(
      { hash: digestOf(answer.access_token), kind: "access", expires_at: yield* fromNow(accessSeconds * 1000) },
      id
    )
    yield* store.insertToken({ hash: digestOf(answer.refresh_token), kind: "refresh", expires_at }, id)
    return answer
  })
)

/** The step of a refresh token. */
const makeRotation = Effect.gen(function* () {
  const keys = yield* ApiKeyStore
  const store = yield* OauthStore
  const vault = yield* Vault
  const end = yield* makeEnd
  const give = yield* makeGive

  // The next tokens follow from the old one and a key of the server. So a retry gets them again, and nobody has to store them.
  const next = (kind: "access" | "refresh", token: string) => vault.mac(`oauth ${kind}`, token).split(".").at(-1) ?? ""

  const isRetry = Effect.fnUntraced(function* (token: string, refresh: string) {
    // Another request may have used it up since it was read.
    const used = yield* store.findToken(digestOf(token), "refresh")
    const usedAt = used?.used_at ?? null
    if (usedAt === null || toMillis(yield* now) - toMillis(usedAt) > retryMs) return false
    // Once the next refresh token is used, the answer has arrived.
    const following = yield* store.findToken(digestOf(`ror_${refresh}`), "refresh")
    return following !== undefined && following.used_at === null
  })

  return Effect.fnUntraced(function* (request: TokenRequest, clientId: string) {
    const token = request.refresh_token ?? ""
    const found = yield* store.findToken(digestOf(token), "refresh")
    if (found === undefined || found.grant.client_id !== clientId) return yield* badRefresh
    const holder = yield* keys.findAppHolder(found.grant.key_id)
    if (holder === undefined) return yield* badRefresh
    // An app names what it asked for at first. It gets what the person gave, and the answer says so (RFC 6749, 3.3).
    const known: ReadonlyArray<string> = found.grant.asked_scopes ?? appScopes
    if (!knownScopes(request.scope ?? "").every((scope) => known.includes(scope))) return yield* tooMuch
    const [access, refresh] = [next("access", token), next("refresh", token)]
    if (yield* store.useToken(found.hash)) return yield* give(found.grant, inOrder(holder.scopes), { access, refresh })
    if (yield* isRetry(token, refresh)) return answerOf(access, refresh, inOrder(holder.scopes))
    yield* end(found.grant)
    const replayed: Replayed = { refused: usedRefresh }
    return replayed
  })
})

const digestOf = (token: string): string => Token.digest(Redacted.make(token))

const inOrder = (scopes: ReadonlyArray<string>): ReadonlyArray<AppScope> =>
  appScopes.filter((scope) => scopes.includes(scope))

const answerOf = (access: string, refresh: string, scopes: ReadonlyArray<string>): TokenAnswer => ({
  access_token: `roa_${access}`,
  token_type: "Bearer",
  expires_in: accessSeconds,
  refresh_token: `ror_${refresh}`,
  scope: scopes.join(" ")
})

const isVerifier = (verifier: string, challenge: string): boolean => {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false
  const [given, wanted] = [Buffer.from(hash("sha256", verifier, "base64url")), Buffer.from(challenge)]
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

const invalidGrant = (description: string) => new OauthRefused({ error: "invalid_grant", description })

const badCode = invalidGrant(
  "The code is not good: it has expired, or was given to another client or for another address."
)
const usedCode = invalidGrant("The code was used before. The access that it gave has ended.")
const badRefresh = invalidGrant("The refresh token is not good, or the access has ended.")
const usedRefresh = invalidGrant("The refresh token was used before. The access has ended.")
const tooMuch = new OauthRefused({
  error: "invalid_scope",
  description: "The app never asked for as much. Send its person to the authorization page again."
})
const noClient = new OauthRefused({ error: "invalid_request", description: "client_id is needed." })
const noSuchGrant = new OauthRefused({
  error: "unsupported_grant_type",
  description: "The grant types are authorization_code and refresh_token."
})
const wrongResource = new OauthRefused({ error: "invalid_target", description: "This server has no such resource." })
const notYours = new OauthRefused({ error: "invalid_client", description: "The token was given to another client." })
