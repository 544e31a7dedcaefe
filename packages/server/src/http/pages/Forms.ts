import { ReinsError } from "@reins/core/domain/ReinsError"
import type { RequestInvalid } from "@reins/core/domain/RequestInvalid"
import { toDetails } from "@reins/server/http/validation/Validation"
import { Effect } from "effect"
import type { Exchange } from "../Exchange.js"
import { readBody } from "../middleware/BodyLimit.js"
import { Html, html } from "./Html.js"

/** More than any of the forms needs. */
const maxBytes = 16 * 1024

/** The fields of a form that was sent. */
export const readForm = (exchange: Exchange): Effect.Effect<URLSearchParams, ReinsError> =>
  /^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(exchange.header("content-type") ?? "")
    ? Effect.map(
        Effect.interruptible(readBody(exchange, maxBytes)),
        (bytes) => new URLSearchParams(bytes.toString("utf8"))
      )
    : Effect.fail(notAForm)

/** The token of a link: the query, or its field `token`; empty when the link has none. */
export const tokenOf = (exchange: Exchange): string => {
  const query = new URLSearchParams(exchange.query)
  const [first = ""] = query.keys()
  return query.get("token") ?? first
}

/** A form whose action is relative, so that it works below any path that the service is published at. */
export const form = (page: string, fields: Html, button: string): Html =>
  html`<form method="post" action="${page}">
${fields}
<button>${button}</button>
</form>`

/** Carries the token of the link on. */
export const tokenField = (token: string): Html => html`<input type="hidden" name="token" value="${token}">`

export const emailField = html`<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="email" maxlength="254" required>`

/** Says what went wrong, to be read out at once. */
export const alert = (message: string): Html => html`<p class="alert" role="alert">${message}</p>`

export const nothing = new Html("")

/** What is wrong with a field, in words for whoever filled it in. */
export const reasonOf = (invalid: RequestInvalid): string => {
  const [first] = toDetails(invalid.loc, invalid.issue, invalid.input)
  return `${first?.msg.replace(/^Value error, /, "") ?? "This value cannot be used"}.`
}

const notAForm = new ReinsError({
  code: "unsupported_media_type",
  message: "This address takes the form of its page. Programs use the API: see /docs."
})
