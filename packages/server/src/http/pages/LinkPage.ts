import { EmailAddress } from "@reins/core/domain/Account"
import type { ReinsError } from "@reins/core/domain/ReinsError"
import { RequestInvalid } from "@reins/core/domain/RequestInvalid"
import { Effect, Schema } from "effect"
import type { Page } from "./Html.js"

/** A page that a link in a mail leads to. It shows a form, and only sending the form does something. */
export interface LinkPage {
  readonly name: "verify" | "reset" | "join"
  /** What the link shows. It changes nothing and looks nothing up, since mail scanners follow links. */
  readonly show: (token: string) => Page
  /** What sending the form does, and what it shows afterwards. */
  readonly submit: (fields: URLSearchParams) => Effect.Effect<Page, ReinsError>
}

/** The address in a form. */
export const emailOf = (fields: URLSearchParams): Effect.Effect<string, RequestInvalid> => {
  const email = (fields.get("email") ?? "").trim()
  return Effect.mapError(
    Schema.decode(EmailAddress)(email),
    ({ issue }) => new RequestInvalid({ loc: ["body", "email"], issue, input: email })
  )
}
