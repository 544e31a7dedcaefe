import * as artifacts from "./artifacts/Contract.js"
import * as automations from "./automations/Contract.js"
import * as care from "./care/Contract.js"
import * as catalog from "./catalog/Contract.js"
import * as changes from "./changes/Contract.js"
import * as connections from "./connections/Contract.js"
import * as delegations from "./delegations/Contract.js"
import * as deletion from "./deletion/Contract.js"
import * as deliveries from "./deliveries/Contract.js"
import * as events from "./events/Contract.js"
import * as execution from "./execution/Contract.js"
import * as exports from "./exports/Contract.js"
import * as hooks from "./hooks/Contract.js"
import * as identity from "./identity/Contract.js"
import * as jobs from "./jobs/Contract.js"
import * as logins from "./logins/Contract.js"
import * as mcp from "./mcp/Contract.js"
import * as oauth from "./oauth/Contract.js"
import * as projects from "./projects/Contract.js"
import * as push from "./push/Contract.js"
import * as requests from "./requests/Contract.js"
import * as sessions from "./sessions/Contract.js"
import * as shares from "./shares/Contract.js"
import * as tools from "./tools/Contract.js"
import * as webhooks from "./webhooks/Contract.js"
import * as work from "./work/Contract.js"
import * as worktrees from "./worktrees/Contract.js"

/**
 * The contracts of the rooms, in the order of the OpenAPI document. A room shows in its `Contract.ts` the groups of its endpoints and the errors of its
 * operations. Both are data. A program that embeds the core needs neither, so it does not load them.
 */
export const contracts = [
  identity,
  oauth,
  connections,
  logins,
  projects,
  mcp,
  sessions,
  work,
  execution,
  worktrees,
  changes,
  deliveries,
  requests,
  care,
  delegations,
  exports,
  shares,
  artifacts,
  automations,
  hooks,
  deletion,
  tools,
  events,
  webhooks,
  push,
  catalog,
  jobs
] as const

/** One of them. */
export type Contract = (typeof contracts)[number]
