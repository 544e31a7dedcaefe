import { catchCode } from "@reins/base/domain/ReinsError"
import { Members } from "@reins/core/identity/Members"
import { Effect, Redacted } from "effect"
import { alert, form, tokenField } from "./Forms.js"
import { html, type Page } from "./Html.js"
import type { LinkPage } from "./LinkPage.js"

/** Accepts an invitation to a workspace. */
export const joinPage = Effect.gen(function* () {
  const members = yield* Members
  const page: LinkPage = {
    show: (token) => (token === "" ? incomplete : confirm(token)),
    submit: (fields) =>
      members.join(Redacted.make(fields.get("token") ?? "")).pipe(
        Effect.as(joined),
        catchCode(["token_expired", "email_unverified"], (error) =>
          Effect.succeed(refused(error.status, error.message))
        )
      )
  }
  return page
})

const title = "Join a workspace"

const confirm = (token: string): Page => ({
  status: 200,
  title,
  content: html`<p>The account with the address that the mail came to becomes a member.</p>
${form("join", tokenField(token), "Join")}`
})

const incomplete: Page = {
  status: 200,
  title,
  content: html`<p>This link is incomplete. Open it from the mail, or copy the whole of it.</p>`
}

const refused = (status: number, message: string): Page => ({ status, title, content: alert(message) })

const joined: Page = {
  status: 200,
  title: "You are a member now",
  content: html`<p role="status">You can close this page. The workspace is there from your next request on.</p>`
}
