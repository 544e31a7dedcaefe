import { Api } from "@reins/core/api/Api"
import { Effect } from "effect"
import { accounts, apiKeys, workspaces } from "./AccountsHandlers.js"
import { catalog, jobs } from "./CatalogHandlers.js"
import { documentRoutes } from "./Documents.js"
import { changesets, connections, deliveries, projects } from "./ResourceHandlers.js"
import { routesOf } from "./Router.js"
import { messages, sessions, turns } from "./SessionsHandlers.js"

/** Everything that the service answers to. */
export const routes = Effect.gen(function* () {
  const handlers = yield* Effect.all({
    accounts,
    apiKeys,
    workspaces,
    connections,
    projects,
    sessions,
    messages,
    turns,
    changesets,
    deliveries,
    catalog,
    jobs
  })
  return [...(yield* routesOf(Api, handlers)), ...(yield* documentRoutes)]
})
