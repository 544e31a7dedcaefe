import { Changesets } from "@reins/core/changes/Changesets"
import { Deliveries } from "@reins/core/changes/Deliveries"
import { Connections } from "@reins/core/connections/Connections"
import { Projects } from "@reins/core/projects/Projects"
import { Effect } from "effect"
import type { Handlers } from "./Handlers.js"

export const connections = Effect.gen(function* () {
  const connections = yield* Connections
  const handlers: Handlers<"connections"> = {
    list: ({ path, principal, query }) => connections.list(principal, path.workspace_id, query),
    create: ({ body, path, principal }) => connections.create(principal, path.workspace_id, body),
    get: ({ path, principal }) => connections.get(principal, path.connection_id),
    update: ({ body, path, principal }) => connections.update(principal, path.connection_id, body),
    disconnect: ({ path, principal }) => connections.disconnect(principal, path.connection_id),
    replaceCredential: ({ body, path, principal }) => connections.replaceCredential(principal, path.connection_id, body)
  }
  return handlers
})

export const projects = Effect.gen(function* () {
  const projects = yield* Projects
  const handlers: Handlers<"projects"> = {
    list: ({ path, principal, query }) => projects.list(principal, path.workspace_id, query),
    create: ({ body, path, principal }) => projects.create(principal, path.workspace_id, body),
    get: ({ path, principal }) => projects.get(principal, path.project_id),
    update: ({ body, path, principal }) => projects.update(principal, path.project_id, body),
    listVersions: ({ path, principal, query }) => projects.listVersions(principal, path.project_id, query),
    publish: ({ body, path, principal }) => projects.publish(principal, path.project_id, body)
  }
  return handlers
})

export const changesets = Effect.gen(function* () {
  const changesets = yield* Changesets
  const deliveries = yield* Deliveries
  const handlers: Handlers<"changesets"> = {
    get: ({ path, principal }) => changesets.get(principal, path.changeset_id),
    diff: ({ path, principal, query }) => changesets.diff(principal, path.changeset_id, query),
    files: ({ path, principal, query }) => changesets.files(principal, path.changeset_id, query.path),
    listDeliveries: ({ path, principal, query }) => deliveries.list(principal, path.changeset_id, query),
    deliver: ({ body, path, principal }) => deliveries.request(principal, path.changeset_id, body)
  }
  return handlers
})

export const deliveries = Effect.gen(function* () {
  const deliveries = yield* Deliveries
  const handlers: Handlers<"deliveries"> = {
    get: ({ path, principal }) => deliveries.get(principal, path.delivery_id),
    retry: ({ path, principal }) => deliveries.retry(principal, path.delivery_id)
  }
  return handlers
})
