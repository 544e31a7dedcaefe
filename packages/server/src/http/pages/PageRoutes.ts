import { once } from "@reins/base/base/Once"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"
import type { Exchange } from "../Exchange.js"
import { Authentication } from "../middleware/Authentication.js"
import { headersOf } from "../middleware/ErrorEnvelope.js"
import type { Reply } from "../Reply.js"
import type { Route } from "../Route.js"
import { alert, readForm, tokenOf } from "./Forms.js"
import { replyWith } from "./Html.js"
import type { LinkPage } from "./LinkPage.js"

// A page is loaded with its first request.
const pages = {
  verify: Effect.flatMap(
    Effect.promise(() => import("./VerifyPage.js")),
    ({ verifyPage }) => verifyPage
  ),
  reset: Effect.flatMap(
    Effect.promise(() => import("./ResetPage.js")),
    ({ resetPage }) => resetPage
  ),
  join: Effect.flatMap(
    Effect.promise(() => import("./JoinPage.js")),
    ({ joinPage }) => joinPage
  )
}

type Services = Effect.Effect.Context<(typeof pages)[keyof typeof pages]>

/** The routes of the pages that links in mails lead to. The pages need no JavaScript and are no part of the API. */
export const pageRoutes = Effect.gen(function* () {
  const authentication = yield* Authentication
  const services = yield* Effect.context<Services>()
  const routes = yield* Effect.forEach(
    Object.entries<Effect.Effect<LinkPage, never, Services>>(pages),
    ([name, page]) =>
      Effect.map(
        once(Effect.provide(page, services)),
        (loaded): ReadonlyArray<Route> => [
          {
            method: "GET",
            path: `/${name}`,
            mutates: false,
            answer: (exchange) => Effect.map(loaded, ({ show }) => replyWith(show(tokenOf(exchange))))
          },
          {
            method: "POST",
            path: `/${name}`,
            mutates: true,
            answer: (exchange: Exchange) =>
              authentication.admitForm(exchange).pipe(
                Effect.zipRight(Effect.all([loaded, readForm(exchange)])),
                Effect.flatMap(([{ submit }, fields]) => submit(fields, exchange)),
                Effect.match({ onSuccess: (page) => replyWith(page), onFailure: failed })
              )
          }
        ]
      )
  )
  return routes.flat()
})

/** The page for an error of any code, because each page has others. */
const failed = (error: ReinsError): Reply =>
  replyWith({ status: error.status, title: "This did not work", content: alert(error.message) }, headersOf(error))
