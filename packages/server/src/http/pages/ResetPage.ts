import { catchCode } from "@reins/base/domain/ReinsError"
import { PasswordChanges } from "@reins/core/identity/PasswordChanges"
import { Effect } from "effect"
import { alert, emailField, form, nothing, reasonOf, tokenField } from "./Forms.js"
import { type Html, html, type Page } from "./Html.js"
import { emailOf, type LinkPage } from "./LinkPage.js"

/** Sets a new password, or sends the link for that. */
export const resetPage = Effect.gen(function* () {
  const passwords = yield* PasswordChanges

  const sendLink = (fields: URLSearchParams, client: Client) =>
    emailOf(fields).pipe(
      Effect.flatMap((email) => passwords.reset({ email }, client)),
      Effect.as(sent),
      Effect.catchTag("RequestInvalid", (invalid) => Effect.succeed(askForLink(422, alert(reasonOf(invalid)))))
    )

  const setPassword = (token: string, fields: URLSearchParams, client: Client) => {
    const password = fields.get("new_password") ?? ""
    if (password !== fields.get("repeated")) return Effect.succeed(choose(422, token, alert(different)))
    return passwords.reset({ token, new_password: password }, client).pipe(
      Effect.as(done),
      Effect.catchTag("RequestInvalid", (invalid) => Effect.succeed(choose(422, token, alert(reasonOf(invalid)))))
    )
  }

  const page: LinkPage = {
    show: (token) => (token === "" ? askForLink(200, nothing) : choose(200, token, nothing)),
    submit: (fields, client) => {
      const token = fields.get("token") ?? ""
      return catchCode("token_expired", () => Effect.succeed(askForLink(410, alert(expired))))(
        token === "" ? sendLink(fields, client) : setPassword(token, fields, client)
      )
    }
  }
  return page
})

type Client = Parameters<LinkPage["submit"]>[1]

const choose = (status: number, token: string, message: Html): Page => ({
  status,
  title: "Choose a new password",
  content: html`${message}
${form(
  "reset",
  html`${tokenField(token)}
<label for="new_password">New password</label>
<input id="new_password" name="new_password" type="password" autocomplete="new-password" minlength="8" maxlength="1024" required aria-describedby="rule">
<p id="rule" class="hint">At least 8 characters. A few words in a row are good.</p>
<label for="repeated">The same again</label>
<input id="repeated" name="repeated" type="password" autocomplete="new-password" minlength="8" maxlength="1024" required>`,
  "Set the password"
)}`
})

const askForLink = (status: number, message: Html): Page => ({
  status,
  title: "Forgot your password?",
  content: html`${message}
<p>Enter the address of your account to have a link sent that sets a new one.</p>
${form("reset", emailField, "Send a link")}`
})

const sent: Page = {
  status: 200,
  title: "Look into your mail",
  content: html`<p role="status">If there is an account with this address, a link is on its way. It is good for one hour.</p>`
}

const done: Page = {
  status: 200,
  title: "Your password is set",
  content: html`<p role="status">Every login of your account has ended. You can close this page and log in with the new password.</p>`
}

const different = "The two passwords differ. Enter the same one twice."

const expired = "This link was used before or has expired. Nothing was changed."
