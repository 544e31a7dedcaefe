import type { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { EmailAddress } from "@reins/core/identity/Account"
import { Effect, Schema } from "effect"
import type { Page } from "./Html.js"

/** A page that a link in a mail leads to. Opening it changes nothing; sending its form does. */
export interface LinkPage {
  /** Shows the page of the link. It changes nothing, because mail scanners follow links. */
  readonly show: (token: string) => Page
  /** Carries out the form, and gives the page to show then. */
  readonly submit: (
    fields: URLSearchParams,
    client: { readonly clientAddress: string }
  ) => Effect.Effect<Page, ReinsError<"waiting_capacity" | "version_conflict">>
}

/** The address in a form. Fails for an address that is malformed. */
export const emailOf = (fields: URLSearchParams): Effect.Effect<string, RequestInvalid> => {
  const email = (fields.get("email") ?? "").trim()
  return Effect.mapError(
    Schema.decode(EmailAddress)(email),
    ({ issue }) => new RequestInvalid({ loc: ["body", "email"], issue, input: email })
  )
}
