import { budgetIn } from "../budgets/BudgetRow.js"
import { type Session, usageOf } from "./Session.js"
import { activityOf } from "./SessionActivity.js"
import type { SessionRow } from "./SessionRow.js"

/** The session as clients see it, with what the caller can do with it. */
export const toSession = (row: SessionRow, actions: Session["actions"]): Session => ({
  id: row.id,
  workspace_id: row.workspace_id,
  project_id: row.project_id,
  project_version_id: row.project_version_id,
  title: row.title,
  labels: JSON.parse(row.labels),
  harness: {
    provider_id: row.provider_id,
    model: row.model,
    connection_id: row.connection_id,
    options: parsed(row.options)
  },
  executor: { backend: row.backend, state: row.lease_state, lease_id: row.lease_id },
  base: { repository: row.repository, ref: row.base_ref, commit: row.base_commit, sparse: parsed(row.sparse) },
  workspace: { state: row.workspace_state },
  permissions: parsed(row.permissions),
  auto_capture: row.auto_capture === 1,
  lifecycle: row.lifecycle,
  activity: activityOf(row),
  active_turn_id: row.active_turn_id,
  linked_from_session_id: row.linked_from_session_id,
  link_kind: row.link_kind,
  parent_delegation_id: row.parent_delegation_id,
  usage: usageOf(row.usage),
  budget: budgetIn(row.budget),
  event_watermark: row.event_watermark,
  version: row.version,
  created_at: row.created_at,
  updated_at: row.updated_at,
  archived_at: row.archived_at,
  closed_at: row.closed_at,
  actions
})

const parsed = (json: string | null) => (json === null ? null : JSON.parse(json))
