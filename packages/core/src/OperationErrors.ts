import { operationErrors as automations } from "./automations/Errors.js"
import { operationErrors as catalog } from "./catalog/Errors.js"
import { operationErrors as changes } from "./changes/Errors.js"
import { operationErrors as connections } from "./connections/Errors.js"
import { operationErrors as delegations } from "./delegations/Errors.js"
import { operationErrors as deletion } from "./deletion/Errors.js"
import type { ErrorCode } from "./domain/ReinsError.js"
import { operationErrors as events } from "./events/Errors.js"
import { operationErrors as execution } from "./execution/Errors.js"
import { operationErrors as identity } from "./identity/Errors.js"
import { operationErrors as jobs } from "./jobs/Errors.js"
import { operationErrors as projects } from "./projects/Errors.js"
import { operationErrors as sessions } from "./sessions/Errors.js"
import { operationErrors as webhooks } from "./webhooks/Errors.js"
import { operationErrors as worktrees } from "./worktrees/Errors.js"

/** The errors of every operation, as the rooms list them. */
export const operationErrors = {
  ...identity,
  ...connections,
  ...projects,
  ...catalog,
  ...jobs,
  ...events,
  ...sessions,
  ...worktrees,
  ...changes,
  ...delegations,
  ...execution,
  ...automations,
  ...deletion,
  ...webhooks
} as const

/** An operation, as `group.endpoint`. */
export type OperationName = keyof typeof operationErrors

/** The codes that the service behind an operation can fail with. */
export type ErrorsOf<Name extends string> = Name extends OperationName
  ? (typeof operationErrors)[Name][number]
  : ErrorCode
