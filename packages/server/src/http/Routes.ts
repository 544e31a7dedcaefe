import { Api } from "@reins/core/Api"
import { Effect } from "effect"
import { EventStreams } from "../EventStreams.js"
import { accounts, apiKeys, workspaces } from "./AccountsHandlers.js"
import { catalog, jobs } from "./CatalogHandlers.js"
import { applications, changesets, deliveries, mergeRequests } from "./ChangesHandlers.js"
import { connections } from "./ConnectionsHandlers.js"
import { interactions, messages, turns } from "./ConversationHandlers.js"
import { delegations } from "./DelegationsHandlers.js"
import { documentRoutes } from "./Documents.js"
import { projects } from "./ProjectsHandlers.js"
import { pageRoutes } from "./pages/PageRoutes.js"
import { routesOf } from "./Router.js"
import { sessions } from "./SessionsHandlers.js"
import { webhooks } from "./WebhooksHandlers.js"

/** All routes of the service, which people reach at `publicUrl`. */
export const routesAt = Effect.fnUntraced(function* (publicUrl: URL) {
  const handlers = yield* Effect.all({
    accounts,
    apiKeys,
    workspaces,
    connections,
    projects,
    sessions,
    messages,
    turns,
    interactions,
    changesets,
    applications,
    deliveries,
    mergeRequests,
    delegations,
    webhooks,
    catalog,
    jobs
  })
  const { routesOfNodes } = yield* EventStreams
  return [
    ...(yield* routesOf(Api, handlers)),
    ...(yield* documentRoutes(publicUrl)),
    ...(yield* pageRoutes),
    ...routesOfNodes
  ]
})
