import { ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { toDetails } from "@reins/server/http/validation/Validation"
import { Effect } from "effect"
import type { Exchange } from "../Exchange.js"
import { readBody, type TooLarge } from "../middleware/BodyLimit.js"
import { Html, html } from "./Html.js"

/** The largest form, in bytes. */
const maxBytes = 16 * 1024

/** The fields of a form that was sent. Fails with `unsupported_media_type` for another body, and as `readBody` does. */
export const readForm = (
  exchange: Exchange
): Effect.Effect<URLSearchParams, TooLarge | ReinsError<"unsupported_media_type">> =>
  /^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(exchange.header("content-type") ?? "")
    ? Effect.map(
        Effect.interruptible(readBody(exchange, maxBytes)),
        (bytes) => new URLSearchParams(bytes.toString("utf8"))
      )
    : Effect.fail(notAForm)

/** The token of a link, which is the whole query or its field `token`. Empty when the link has none. */
export const tokenOf = (exchange: Exchange): string => {
  const query = new URLSearchParams(exchange.query)
  const [first = ""] = query.keys()
  return query.get("token") ?? first
}

/** A form with a relative action, so that it works below any path that the service is published at. */
export const form = (page: string, fields: Html, button: string): Html =>
  html`<form method="post" action="${page}">
${fields}
<button>${button}</button>
</form>`

/** Sends the token of the link with the form. */
export const tokenField = (token: string): Html => html`<input type="hidden" name="token" value="${token}">`

/** The field for an address. */
export const emailField = html`<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="email" maxlength="254" required>`

/** An error message, which screen readers read out at once. */
export const alert = (message: string): Html => html`<p class="alert" role="alert">${message}</p>`

/** No markup. */
export const nothing = new Html("")

/** The fault of a field, as a sentence for a person. */
export const reasonOf = (invalid: RequestInvalid): string => {
  const [first] = toDetails(invalid.loc, invalid.issue, invalid.input)
  return `${first?.msg.replace(/^Value error, /, "") ?? "This value cannot be used"}.`
}

const notAForm = new ReinsError({
  code: "unsupported_media_type",
  message: "This address takes only the form of its page. Programs use the API, which /docs describes."
})
