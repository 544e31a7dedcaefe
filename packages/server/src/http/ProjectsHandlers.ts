import { Projects } from "@reins/core/projects/Projects"
import { Effect } from "effect"
import type { Handlers } from "./Handlers.js"

export const projects = Effect.map(
  Projects,
  (projects): Handlers<"projects"> => ({
    list: ({ path, principal, query }) => projects.list(principal, path.workspace_id, query),
    create: ({ body, path, principal }) => projects.create(principal, path.workspace_id, body),
    get: ({ path, principal }) => projects.get(principal, path.project_id),
    update: ({ body, path, principal }) => projects.update(principal, path.project_id, body),
    listVersions: ({ path, principal, query }) => projects.listVersions(principal, path.project_id, query),
    publish: ({ body, path, principal }) => projects.publish(principal, path.project_id, body)
  })
)
