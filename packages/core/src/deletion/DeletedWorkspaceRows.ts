import { workspaceRows as ofAutomations } from "../automations/WorkspaceRows.js"
import { workspaceRows as ofBudgets } from "../budgets/WorkspaceRows.js"
import { workspaceRows as ofConnections } from "../connections/WorkspaceRows.js"
import { workspaceRows as ofDeliveries } from "../deliveries/WorkspaceRows.js"
import { workspaceRows as ofHooks } from "../hooks/WorkspaceRows.js"
import { workspaceRows as ofIdentity } from "../identity/Removal.js"
import { workspaceRows as ofJobs } from "../jobs/WorkspaceRows.js"
import { workspaceRows as ofLogins } from "../logins/Rows.js"
import { workspaceRows as ofOauth } from "../oauth/Rows.js"
import { workspaceRows as ofProjects } from "../projects/WorkspaceRows.js"
import { workspaceRows as ofPush } from "../push/Rows.js"
import { workspaceRows as ofSessions } from "../sessions/WorkspaceRows.js"
import type { OwnedRows } from "../store/OwnedRows.js"
import { workspaceRows as ofLogs } from "../store/WorkspaceRows.js"
import { workspaceRows as ofWebhooks } from "../webhooks/WorkspaceRows.js"

/** The rows of a workspace: rows before those that they refer to, or by which they are found. */
export const workspaceRows: ReadonlyArray<OwnedRows> = [
  ...ofJobs,
  ...ofBudgets,
  ...ofAutomations,
  ...ofHooks,
  ...ofWebhooks,
  ...ofDeliveries,
  ...ofPush,
  ...ofProjects,
  ...ofLogins,
  ...ofConnections,
  ...ofSessions,
  ...ofOauth,
  ...ofIdentity,
  ...ofLogs
]
