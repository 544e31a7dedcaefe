import { Api } from "@reins/core/Api"
import { operations } from "@reins/core/Rooms"
import { Effect } from "effect"
import { EventStreams } from "../EventStreams.js"
import { documentRoutes } from "./Documents.js"
import { mcpRoutes } from "./doors/McpRoutes.js"
import type { AllHandlers } from "./Handlers.js"
import { hookRoutes } from "./HookRoutes.js"
import * as Own from "./OwnHandlers.js"
import { oauthRoutes } from "./oauth/OauthRoutes.js"
import { pageRoutes } from "./pages/PageRoutes.js"
import { routesOf } from "./Router.js"

/** The operations of the core, and what only a server can answer. */
const allHandlers = Effect.gen(function* () {
  const own = yield* operations
  const events = yield* Own.events
  const handlers: AllHandlers = {
    ...own,
    accounts: { ...own.accounts, ...(yield* Own.accounts) },
    workspaces: { ...own.workspaces, ...events.ofWorkspace },
    sessions: { ...own.sessions, ...events.ofSession, ...(yield* Own.exports) },
    artifacts: { ...own.artifacts, ...(yield* Own.artifacts) },
    shared: yield* Own.shared,
    delegations: { ...own.delegations, ...(yield* Own.waits) },
    catalog: { ...own.catalog, ...Own.version }
  }
  return handlers
})

/** All routes of the service, which people reach at `publicUrl`. */
export const routesAt = Effect.fnUntraced(function* (publicUrl: URL) {
  const { routesOfNodes } = yield* EventStreams
  return [
    ...(yield* routesOf(Api, yield* allHandlers)),
    ...(yield* documentRoutes(publicUrl)),
    ...(yield* pageRoutes),
    ...(yield* hookRoutes),
    ...(yield* mcpRoutes(publicUrl)),
    ...(yield* oauthRoutes),
    ...routesOfNodes
  ]
})
