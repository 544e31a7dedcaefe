import { cutText } from "@reins/base/base/CutText"
import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Accounts } from "@reins/core/identity/Accounts"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import { Authorizations, type Consent, lastingDays } from "@reins/core/oauth/Authorizations"
import { type AppScope, appScopes } from "@reins/core/oauth/OauthGrant"
import { OauthRefused } from "@reins/core/oauth/OauthRefused"
import type { RedirectPlace } from "@reins/core/oauth/Redirects"
import { Effect } from "effect"
import type { Exchange } from "../Exchange.js"
import { Authentication } from "../middleware/Authentication.js"
import { headersOf } from "../middleware/ErrorEnvelope.js"
import { Reply } from "../Reply.js"
import { alert, nothing, readForm } from "./Forms.js"
import { type Html, html, markup, type Page, replyWith } from "./Html.js"

/** The longest request of an app. It goes into a form once more. */
const longestQuery = 5000

type Failed = ReinsError | OauthRefused

/** The page on which a person decides if an app gets access. It needs no JavaScript, and no page of another site can show it in a frame. */
export const consentPage = Effect.gen(function* () {
  const accounts = yield* Accounts
  const authentication = yield* Authentication
  const authorizations = yield* Authorizations
  const logins = yield* LoginSessions

  /** The person who is logged in with this browser. */
  const personOf = Effect.fnUntraced(function* (exchange: Exchange) {
    const principal = yield* authentication.identify(exchange)
    if (principal?.via.kind !== "login") return undefined
    exchange.principal = principal
    return principal
  })

  /** These pages let a browser name its origin. So a browser that names none, over plain http too, shows a page of another site. */
  const admitForm = (exchange: Exchange) =>
    exchange.header("origin") === "null" && exchange.header("sec-fetch-site") === undefined
      ? Effect.fail(foreign)
      : authentication.admitForm(exchange)

  const ask = Effect.fnUntraced(function* (principal: Principal, query: string) {
    if (query.length > longestQuery) return yield* tooLong
    const consent = yield* authorizations.ask(principal, query)
    const { account } = yield* accounts.me(principal)
    return reply(asking(consent, query, account.email))
  })

  const show = (exchange: Exchange) =>
    answered(
      Effect.gen(function* () {
        yield* authentication.admitAnybody(exchange, false)
        const principal = yield* personOf(exchange)
        return principal === undefined
          ? reply(loggingIn(exchange.query, nothing))
          : yield* ask(principal, exchange.query)
      })
    )

  const decide = (exchange: Exchange) =>
    answered(
      Effect.gen(function* () {
        yield* admitForm(exchange)
        const field = fieldsOf(yield* readForm(exchange))
        const [query, proof] = [field("query"), field("proof")]
        const principal = yield* personOf(exchange)
        if (principal === undefined) return reply(loggingIn(query, nothing))
        if (field("decision") !== "allow") return leaveTo(yield* authorizations.refuse(principal, { query, proof }))
        const scope = appScopes.find((one) => one === field("scope"))
        if (scope === undefined) return yield* incomplete
        const address = yield* authorizations.allow(principal, {
          query,
          proof,
          scope,
          workspaceId: field("workspace_id"),
          isUnattended: scope === "write" && field("unattended") === "yes",
          lastsDays: Number(field("lasts_days"))
        })
        return leaveTo(address)
      })
    )

  /** Logs a person in and shows the page again. The address is always one of this service, whatever the form says. */
  const logIn = (exchange: Exchange) =>
    answered(
      Effect.gen(function* () {
        yield* admitForm(exchange)
        const field = fieldsOf(yield* readForm(exchange))
        const query = new URLSearchParams(field("query")).toString()
        const [email, password] = [cutText(field("email"), 254), cutText(field("password"), 1024)]
        return yield* Effect.match(logins.login({ email, password }, exchange), {
          onSuccess: (login) => {
            authentication.remember(exchange, login)
            return leaveTo(`authorize?${query}`)
          },
          onFailure: (error: ReinsError) =>
            reply(loggingIn(query, alert(error.message), error.status === 429 ? 429 : 422))
        })
      })
    )

  return { show, decide, logIn }
})

/** The fields of a form. A database takes no NUL. */
const fieldsOf =
  (fields: URLSearchParams) =>
  (name: string): string =>
    (fields.get(name) ?? "").replaceAll("\0", "")

/** Chromium holds each hop after a form against `form-action`, and apps send on to hosts that nobody here knows. So the page names none. */
const headers = {
  "content-security-policy": markup.policy("base-uri 'none'; frame-ancestors 'none'"),
  "referrer-policy": "same-origin",
  "x-frame-options": "DENY"
}

const reply = (page: Page): Reply => replyWith(page, headers)

/** Answers a form with an address for the browser to open. */
const leaveTo = (address: string): Reply => new Reply(303, null, { location: address })

const answered = (page: Effect.Effect<Reply, Failed>): Effect.Effect<Reply> =>
  Effect.catchAll(page, (error) =>
    Effect.succeed(
      error instanceof OauthRefused
        ? reply(stopped(error.retryAfterSeconds === undefined ? 400 : 429, error.description))
        : replyWith(stopped(error.status, error.message), { ...headers, ...headersOf(error) })
    )
  )

const stopped = (status: number, message: string): Page => ({
  status,
  title: "The app was not connected",
  content: html`${alert(message)}
<p>Nothing was allowed, and nothing was sent to the app. You can close this page.</p>`
})

const hidden = (name: string, value: string): Html => html`<input type="hidden" name="${name}" value="${value}">`

const loggingIn = (query: string, message: Html, status = 200): Page => ({
  status,
  title: "Log in",
  content: html`<p>An app asks for access to your account. Log in to see which one, and to decide.</p>
${message}
<form method="post" action="login">
${hidden("query", cutText(query, longestQuery))}
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" maxlength="254" required>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required>
<button>Log in</button>
</form>`
})

const asking = (consent: Consent, query: string, email: string): Page => ({
  status: 200,
  title: "Give an app access?",
  content: html`${introduction(consent)}
<form method="post" action="authorize">
${hidden("query", query)}
${hidden("proof", consent.proof)}
<fieldset>
<legend>The app may</legend>
${listOf(consent.scopes.map((scope) => choice(scope, scope === preselected(consent.scopes))))}
</fieldset>
${consent.scopes.includes("write") ? unattended : nothing}
<label for="workspace_id">Workspace</label>
<select id="workspace_id" name="workspace_id" required>
${listOf(consent.workspaces.map(({ id, name, role }) => html`<option value="${id}">${name} (${role})</option>`))}
</select>
<label for="lasts_days">For</label>
<select id="lasts_days" name="lasts_days">
${listOf(lastingDays.map((days) => (days === usualDays ? html`<option value="${String(days)}" selected>${inDays(days)}</option>` : html`<option value="${String(days)}">${inDays(days)}</option>`)))}
</select>
<p class="hint">You are logged in as ${email}. The page Account of the console lists the app, and ends its access at any time.</p>
<button name="decision" value="allow">Allow</button>
<button name="decision" value="refuse" class="other">Refuse</button>
</form>`
})

const usualDays = 30

const inDays = (days: number): string => (days === 1 ? "1 day" : `${days} days`)

/** The name of an app is text of a stranger. Only the host of its document is proved. */
const introduction = ({ client, place, redirectUri }: Consent): Html => html`<p>${
  client.host === null
    ? html`An app that calls itself <strong>${client.name}</strong> asks for access to Reins. Nothing proves its name. Go on only if you have just begun this yourself.`
    : html`<strong>${client.name}</strong> of <strong>${client.host}</strong> asks for access to Reins. Go on only if you have just begun this yourself.`
}</p>
<p>The answer goes to ${placeText(place)}:<br><code>${redirectUri}</code></p>`

const placeText = (place: RedirectPlace): Html => {
  switch (place.kind) {
    case "machine":
      return html`<strong>a program on your own machine</strong>`
    case "host":
      return html`<strong>${place.name}</strong>`
    case "app":
      return html`<strong>the app for ${place.name} addresses</strong>`
  }
}

const words: Readonly<Record<AppScope, readonly [title: string, more: string]>> = {
  read: ["Look", "Read sessions, files, changes and projects of the workspace."],
  act: [
    "Look, and have agents work",
    "Also start sessions, send messages and files, and cancel turns. This costs what agents cost."
  ],
  write: ["Change everything", "Also answer agents, deliver changes to repositories, and change projects and sessions."]
}

/** The act of an agent is what apps are for. More than that is for the person to tick. */
const preselected = (scopes: ReadonlyArray<AppScope>): AppScope => (scopes.includes("act") ? "act" : "read")

const choice = (scope: AppScope, isChecked: boolean): Html => {
  const [title, more] = words[scope]
  const input = isChecked
    ? html`<input type="radio" id="scope_${scope}" name="scope" value="${scope}" checked>`
    : html`<input type="radio" id="scope_${scope}" name="scope" value="${scope}">`
  return html`<div class="choice">${input}<label for="scope_${scope}">${title}<span>${more}</span></label></div>
`
}

const unattended = html`<div class="choice"><input type="checkbox" id="unattended" name="unattended" value="yes"><label for="unattended">Without asking me<span>Counts with the permission to change everything: the app answers agents and delivers by itself. Files and answers may try to talk it into that.</span></label></div>`

const listOf = (parts: ReadonlyArray<Html>): Html => markup.join(parts)

const foreign = new ReinsError({ code: "csrf_failed", message: "This form comes from a page of another site." })
const tooLong = new OauthRefused({ error: "invalid_request", description: "The request of the app is too long." })
const incomplete = new OauthRefused({
  error: "invalid_request",
  description: "The form was not sent whole. Begin again in the app."
})
