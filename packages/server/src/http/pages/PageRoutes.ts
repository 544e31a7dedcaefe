import { HttpRouter, HttpServerResponse } from "@effect/platform"
import type { ReinsError } from "@reins/core/domain/ReinsError"
import { Effect } from "effect"
import { Exchange, type ExchangeState } from "../Exchange.js"
import { Authentication } from "../middleware/Authentication.js"
import { headersOf } from "../middleware/ErrorEnvelope.js"
import type { Route } from "../Router.js"
import { alert, readForm, tokenOf } from "./Forms.js"
import { respond } from "./Html.js"
import { joinPage } from "./JoinPage.js"
import type { LinkPage } from "./LinkPage.js"
import { resetPage } from "./ResetPage.js"
import { verifyPage } from "./VerifyPage.js"

/** The pages that links in mails lead to. They need no JavaScript, and are no part of the API. */
export const pageRoutes = Effect.gen(function* () {
  const authentication = yield* Authentication
  const pages: ReadonlyArray<LinkPage> = [yield* verifyPage, yield* resetPage, yield* joinPage]
  return pages.flatMap((page): ReadonlyArray<Route> => {
    const submit = (exchange: ExchangeState) =>
      authentication.admitForm(exchange).pipe(
        Effect.zipRight(readForm(exchange)),
        Effect.flatMap(page.submit),
        Effect.map(respond),
        Effect.catchAll((error) => Effect.succeed(failed(error)))
      )
    return [
      HttpRouter.makeRoute(
        "GET",
        `/${page.name}`,
        Effect.map(Exchange, (exchange) => respond(page.show(tokenOf(exchange))))
      ),
      HttpRouter.makeRoute("POST", `/${page.name}`, Effect.flatMap(Exchange, submit), { uninterruptible: true })
    ]
  })
})

const failed = (error: ReinsError): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setHeaders(
    respond({ status: error.status, title: "This did not work", content: alert(error.message) }),
    headersOf(error)
  )
