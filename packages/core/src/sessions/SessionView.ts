import { budgetIn } from "../budgets/BudgetRow.js"
import { gitChoiceOf } from "./creation/GitChoice.js"
import { type Session, usageOf } from "./rows/Session.js"
import { activityOf } from "./rows/SessionActivity.js"
import { leaseStateOf, type SessionRow } from "./rows/SessionRow.js"

/** The session as clients see it, with what the caller can do with it. */
export const toSession = (row: SessionRow, actions: Session["actions"]): Session => ({
  id: row.id,
  workspace_id: row.workspace_id,
  project_id: row.project?.id ?? null,
  project_version_id: row.project?.version_id ?? null,
  title: row.title,
  labels: JSON.parse(row.labels),
  harness: {
    provider_id: row.provider_id,
    model: row.model,
    connection_id: row.connection_id,
    options: parsed(row.options)
  },
  executor: {
    backend: row.executor.backend,
    state: leaseStateOf(row),
    lease_id: row.executor.lease?.id ?? null
  },
  base: {
    repository: row.tree.repository,
    ref: row.tree.base_ref,
    commit: row.tree.base_commit,
    connection_id: gitChoiceOf(row.tree).id,
    sparse: parsed(row.tree.sparse)
  },
  workspace: { state: row.tree.state },
  permissions: parsed(row.permissions),
  auto_capture: row.auto_capture === 1,
  lifecycle: row.lifecycle,
  activity: activityOf(row),
  active_turn_id: row.turns.active?.id ?? null,
  linked_from_session_id: row.lineage.linked_from_session_id,
  link_kind: row.lineage.link_kind,
  parent_delegation_id: row.lineage.parent_delegation_id,
  usage: usageOf(row.usage),
  budget: budgetIn(row.budgets.own),
  event_watermark: row.event_watermark,
  version: row.version,
  created_at: row.created_at,
  updated_at: row.updated_at,
  archived_at: row.archived_at,
  closed_at: row.closed_at,
  actions
})

const parsed = (json: string | null) => (json === null ? null : JSON.parse(json))
