import { catchCode } from "@reins/base/domain/ReinsError"
import { Accounts } from "@reins/core/identity/Accounts"
import { Effect } from "effect"
import { alert, emailField, form, nothing, reasonOf, tokenField } from "./Forms.js"
import { type Html, html, type Page } from "./Html.js"
import { emailOf, type LinkPage } from "./LinkPage.js"

/** Verifies an address, or sends a new link for that. */
export const verifyPage = Effect.gen(function* () {
  const accounts = yield* Accounts

  const sendLink = (fields: URLSearchParams) =>
    emailOf(fields).pipe(
      Effect.flatMap((email) => accounts.verifyEmail({ email })),
      Effect.as(sent),
      Effect.catchTag("RequestInvalid", (invalid) => Effect.succeed(askForLink(422, alert(reasonOf(invalid)))))
    )

  const page: LinkPage = {
    show: (token) => (token === "" ? askForLink(200, nothing) : confirm(token)),
    submit: (fields) => {
      const token = fields.get("token") ?? ""
      return catchCode("token_expired", () => Effect.succeed(askForLink(410, alert(expired))))(
        token === "" ? sendLink(fields) : Effect.as(accounts.verifyEmail({ token }), verified)
      )
    }
  }
  return page
})

const confirm = (token: string): Page => ({
  status: 200,
  title: "Verify your e-mail address",
  content: html`<p>This confirms that the address which the mail came to is yours.</p>
${form("verify", tokenField(token), "Verify my address")}`
})

const askForLink = (status: number, message: Html): Page => ({
  status,
  title: "Verify your e-mail address",
  content: html`${message}
<p>Enter the address that you registered to have a new link sent.</p>
${form("verify", emailField, "Send a new link")}`
})

const sent: Page = {
  status: 200,
  title: "Look into your mail",
  content: html`<p role="status">If this address waits to be verified, a new link is on its way. It is good for 24 hours.</p>`
}

const verified: Page = {
  status: 200,
  title: "Your address is verified",
  content: html`<p role="status">Your account is active. You can close this page and log in.</p>`
}

const expired = "This link was used before or has expired. If your address is verified, just log in."
