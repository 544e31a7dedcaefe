import type { ReinsError } from "@reins/core/domain/ReinsError"
import { Effect } from "effect"
import type { Exchange } from "../Exchange.js"
import { Authentication } from "../middleware/Authentication.js"
import { headersOf } from "../middleware/ErrorEnvelope.js"
import type { Reply } from "../Reply.js"
import type { Route } from "../Route.js"
import { alert, readForm, tokenOf } from "./Forms.js"
import { replyWith } from "./Html.js"
import { joinPage } from "./JoinPage.js"
import type { LinkPage } from "./LinkPage.js"
import { resetPage } from "./ResetPage.js"
import { verifyPage } from "./VerifyPage.js"

/** The routes of the pages that links in mails lead to. The pages need no JavaScript and are no part of the API. */
export const pageRoutes = Effect.gen(function* () {
  const authentication = yield* Authentication
  const pages: ReadonlyArray<LinkPage> = [yield* verifyPage, yield* resetPage, yield* joinPage]
  return pages.flatMap(
    ({ name, show, submit }): ReadonlyArray<Route> => [
      {
        method: "GET",
        path: `/${name}`,
        mutates: false,
        answer: (exchange) => Effect.sync(() => replyWith(show(tokenOf(exchange))))
      },
      {
        method: "POST",
        path: `/${name}`,
        mutates: true,
        answer: (exchange: Exchange) =>
          authentication.admitForm(exchange).pipe(
            Effect.zipRight(readForm(exchange)),
            Effect.flatMap((fields) => submit(fields, exchange)),
            Effect.match({ onSuccess: (page) => replyWith(page), onFailure: failed })
          )
      }
    ]
  )
})

/** The page for an error of any code, because each page has others. */
const failed = (error: ReinsError): Reply =>
  replyWith({ status: error.status, title: "This did not work", content: alert(error.message) }, headersOf(error))
