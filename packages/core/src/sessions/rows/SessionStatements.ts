import type { Fragment } from "@effect/sql/Statement"
import type { LeaseId, ProjectId, ProjectVersionId, TurnId } from "@reins/base/domain/Ids"
import type { Role } from "@reins/base/domain/Role"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { roleQuery } from "../../access/Memberships.js"
import { budgetColumns } from "../../budgets/BudgetRow.js"
import { Database } from "../../store/Database.js"
import type { WorkspaceState } from "./Session.js"
import type { AgentState, Lease, Lineage, SeenSession, SessionRow, WorkingTree } from "./SessionRow.js"
import type { TurnState } from "./Turn.js"
import { isHolding, isLive, isWaiting } from "./TurnConditions.js"

const own = [
  "id",
  "workspace_id",
  "title",
  "labels",
  "provider_id",
  "model",
  "connection_id",
  "options",
  "permissions",
  "auto_capture",
  "lifecycle",
  "usage",
  "event_watermark",
  "version",
  "created_at",
  "updated_at",
  "archived_at",
  "closed_at"
] as const satisfies ReadonlyArray<keyof SessionRow>

const lineage = [
  "parent_session_id",
  "parent_delegation_id",
  "linked_from_session_id",
  "link_kind",
  "api_key_id"
] as const satisfies ReadonlyArray<keyof Lineage>

const tree = [
  "repository",
  "base_ref",
  "base_commit",
  "git_connection",
  "sparse",
  "seed"
] as const satisfies ReadonlyArray<keyof WorkingTree>

const agent = [
  "native_session_id",
  "native_candidate",
  "native_digest",
  "native_paths",
  "native_cost"
] as const satisfies ReadonlyArray<keyof AgentState>

/** A session as one statement reads it from its tables. */
export interface StoredSession
  extends Pick<SessionRow, (typeof own)[number]>,
    Lineage,
    Omit<WorkingTree, "state">,
    AgentState {
  readonly message_count: number
  /** The time at which its deletion was asked for. Nobody sees it from then on. */
  readonly deleting_at: Timestamp | null
  readonly project_id: ProjectId | null
  readonly project_version_id: ProjectVersionId
  readonly backend: SessionRow["executor"]["backend"]
  readonly executor_limits: string | null
  readonly lease_id: LeaseId | null
  readonly lease_state: Lease["state"]
  readonly lease_created_at: Timestamp
  readonly lease_used_at: Timestamp | null
  readonly workspace_state: WorkspaceState
  readonly active_turn_id: TurnId | null
  readonly active_turn_state: TurnState
  readonly queued_turns: number
  readonly held_turns: number
  readonly budget: string | null
  readonly any_budget: number
}

/**
 * The statements that give back and add sessions, each made once. A session is read in one statement, so this file alone names tables of
 * `worktrees` besides that room: `leases as lease`, `working_trees as tree` and `agent_states as agent`. A session without a row there has
 * no lease, no files and no memory.
 */
export const make = Effect.map(Database, (db) => {
  const sql = db.sql
  const of = (table: string, names: ReadonlyArray<string>) => names.map((name) => `${table}.${name}`)
  const countOf = (condition: string): string =>
    `(select cast(count(*) as integer) from turns where turns.session_id = sessions.id and ${condition})`
  const budgets = budgetColumns(db)
  const names = [
    ...of("sessions", [...own, ...lineage, "message_count", "deleting_at"]),
    ...of("sessions", ["project_id", "project_version_id", "backend", "executor_limits"]),
    ...["id", "state", "created_at", "used_at"].map((name) => `lease.${name} as lease_${name}`),
    "coalesce(tree.state, 'none') as workspace_state",
    ...of("tree", tree),
    ...of("agent", agent),
    "coalesce(agent.context_lost, 0) as context_lost",
    "live.id as active_turn_id",
    "live.state as active_turn_state",
    `${countOf(isWaiting("turns"))} as queued_turns`,
    `${countOf(isHolding("turns"))} as held_turns`
  ]
  const columns = sql`${sql.literal(names.join(", "))}, ${budgets.of("sessions.id")} as budget, ${budgets.any} as any_budget`
  // A session has one live turn at most.
  const rest = sql`left join turns as live on live.session_id = sessions.id and ${sql.literal(isLive("live"))}
    left join leases as lease on lease.session_id = sessions.id
    left join working_trees as tree on tree.session_id = sessions.id
    left join agent_states as agent on agent.session_id = sessions.id`
  const workspace = sql.literal("sessions.workspace_id")

  const byId = db.prepare(
    (id: string) => sql<StoredSession>`select ${columns} from sessions ${rest} where sessions.id = ${id}`
  )
  const insert = db.prepareRow((row) => sql`insert into sessions ${sql.insert(row)}`)
  const insertTree = db.prepareRow((row) => sql`insert into working_trees ${sql.insert(row)}`)
  return {
    byId,
    find: (id: string) => Effect.map(db.first(byId(id)), (row) => (row === undefined ? undefined : toSessionRow(row))),
    byIdFor: db.prepare(
      (accountId: string, id: string) => sql<StoredSession & { readonly role: Role | null }>`select ${columns},
        (${roleQuery(sql, workspace, accountId)}) as role from sessions ${rest} where sessions.id = ${id}`
    ),
    select: ({ from = sql.literal("sessions"), where }: { readonly from?: Fragment; readonly where: Fragment }) =>
      Effect.map(db.all(sql<StoredSession>`select ${columns} from ${from} ${rest} where ${where}`), (rows) =>
        rows.map(toSessionRow)
      ),
    /** Files that start from nothing have no row yet. */
    insert: (session: SessionRow) => {
      const added = db.run(insert(columnsOf(session)))
      const isEmpty = tree.every((name) => session.tree[name] === null)
      const files = { session_id: session.id, ...session.tree }
      return isEmpty ? added : Effect.zipRight(added, db.run(insertTree(files)))
    },
    /** Gives the files of a session another repository or another connection to it. Only files that began with one have that. */
    readdress: (id: string, columns: Partial<Pick<WorkingTree, "repository" | "git_connection">>) =>
      db.run(sql`update working_trees set ${sql.update(columns)} where session_id = ${id}`),
    hold: db.prepare((id: string) => sql`select id from sessions where id = ${id}${db.forUpdate}`)
  }
})

/** The columns of a new session. Each is named, because a rest of so many members costs as much as the insert. */
const columnsOf = (session: SessionRow) => ({
  id: session.id,
  workspace_id: session.workspace_id,
  title: session.title,
  labels: session.labels,
  provider_id: session.provider_id,
  model: session.model,
  connection_id: session.connection_id,
  options: session.options,
  permissions: session.permissions,
  auto_capture: session.auto_capture,
  lifecycle: session.lifecycle,
  usage: session.usage,
  event_watermark: session.event_watermark,
  version: session.version,
  message_count: 0,
  turn_count: 0,
  created_at: session.created_at,
  updated_at: session.updated_at,
  parent_session_id: session.lineage.parent_session_id,
  parent_delegation_id: session.lineage.parent_delegation_id,
  linked_from_session_id: session.lineage.linked_from_session_id,
  link_kind: session.lineage.link_kind,
  api_key_id: session.lineage.api_key_id,
  project_id: session.project?.id ?? null,
  project_version_id: session.project?.version_id ?? null,
  backend: session.executor.backend,
  executor_limits: session.executor.limits
})

/** The session of a row. */
export const toSessionRow = (row: StoredSession): SessionRow => ({
  id: row.id,
  workspace_id: row.workspace_id,
  project: row.project_id === null ? null : { id: row.project_id, version_id: row.project_version_id },
  title: row.title,
  labels: row.labels,
  provider_id: row.provider_id,
  model: row.model,
  connection_id: row.connection_id,
  options: row.options,
  permissions: row.permissions,
  auto_capture: row.auto_capture,
  executor: { backend: row.backend, limits: row.executor_limits, lease: leaseIn(row) },
  tree: {
    state: row.workspace_state,
    repository: row.repository,
    base_ref: row.base_ref,
    base_commit: row.base_commit,
    git_connection: row.git_connection,
    sparse: row.sparse,
    seed: row.seed
  },
  agent: {
    native_session_id: row.native_session_id,
    native_candidate: row.native_candidate,
    native_digest: row.native_digest,
    native_paths: row.native_paths,
    native_cost: row.native_cost,
    context_lost: row.context_lost
  },
  lineage: {
    parent_session_id: row.parent_session_id,
    parent_delegation_id: row.parent_delegation_id,
    linked_from_session_id: row.linked_from_session_id,
    link_kind: row.link_kind,
    api_key_id: row.api_key_id
  },
  turns: {
    active: row.active_turn_id === null ? null : { id: row.active_turn_id, state: row.active_turn_state },
    queued: row.queued_turns,
    held: row.held_turns
  },
  budgets: { own: row.budget, any: row.any_budget },
  lifecycle: row.lifecycle,
  usage: row.usage,
  event_watermark: row.event_watermark,
  version: row.version,
  created_at: row.created_at,
  updated_at: row.updated_at,
  archived_at: row.archived_at,
  closed_at: row.closed_at
})

/**
 * The same with the role of who sees it. The member is set: V8 takes 1.6 us to spread an object of so many members, and reads the copy
 * three times as slowly.
 */
export const toSeenSession = (row: StoredSession, role: Role): SeenSession => Object.assign(toSessionRow(row), { role })

const leaseIn = (row: StoredSession): Lease | null =>
  row.lease_id === null
    ? null
    : { id: row.lease_id, state: row.lease_state, created_at: row.lease_created_at, used_at: row.lease_used_at }
