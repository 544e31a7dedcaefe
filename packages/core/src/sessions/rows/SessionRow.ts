import type {
  ApiKeyId,
  ConnectionId,
  DelegationId,
  LeaseId,
  ProjectId,
  ProjectVersionId,
  SessionId,
  TurnId,
  WorkspaceId
} from "@reins/base/domain/Ids"
import type { Role } from "@reins/base/domain/Role"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import type { ExecutorSelection } from "../../projects/Project.js"
import type { LeaseState, LinkKind, SessionLifecycle, WorkspaceState } from "./Session.js"
import type { TurnState } from "./Turn.js"

/** The newest lease of a session, which `Leases` keeps. */
export interface Lease {
  readonly id: LeaseId
  readonly state: Exclude<LeaseState, "none">
  readonly created_at: Timestamp
  /** The time of its last use; null until it is ready. */
  readonly used_at: Timestamp | null
}

/** The files of a session, and what they start from. `WorkingTreeStore` moves them. */
export interface WorkingTree {
  readonly state: WorkspaceState
  readonly repository: string | null
  readonly base_ref: string | null
  readonly base_commit: string | null
  /** A `GitChoice` as JSON; null for no connection that anybody has chosen. */
  readonly git_connection: string | null
  /** A `SparseFolders` as JSON; null for the whole tree. */
  readonly sparse: string | null
  /** A `WorkspaceSeed` as JSON; null for files that begin with their base alone. */
  readonly seed: string | null
}

/** The agent's own memory of a session, which `AgentStateStore` keeps. */
export interface AgentState {
  readonly native_session_id: string | null
  /** The native session that the running turn has opened. It becomes that of the session once a model has answered in it. */
  readonly native_candidate: string | null
  readonly native_digest: string | null
  /** `fixed` when the native session began at the paths of `agentPlaces`; null for those of the machine. */
  readonly native_paths: string | null
  /** The cost that the agent had counted at the end of its last turn, in US dollars, since its native session began; null for none. */
  readonly native_cost: number | null
  /** 1 when no agent can go on with what was said, else 0. */
  readonly context_lost: number
}

/** Where a session comes from. */
export interface Lineage {
  readonly parent_session_id: SessionId | null
  readonly parent_delegation_id: DelegationId | null
  readonly linked_from_session_id: SessionId | null
  readonly link_kind: LinkKind | null
  /** The API key that the session was made with, or that the session was made with which it works for; null for none. */
  readonly api_key_id: ApiKeyId | null
}

/** A session with its lease, its files, the memory of its agent, and the state of its turns. */
export interface SessionRow {
  readonly id: SessionId
  readonly workspace_id: WorkspaceId
  /** The version of a project that the session is pinned to. */
  readonly project: { readonly id: ProjectId; readonly version_id: ProjectVersionId } | null
  readonly title: string | null
  readonly labels: string
  readonly provider_id: string
  readonly model: string | null
  readonly connection_id: ConnectionId | null
  /** An `OptionChoices` as JSON; null for those of the agent. */
  readonly options: string | null
  /** A `PermissionPolicy` as JSON; null for the provider's own. */
  readonly permissions: string | null
  readonly auto_capture: number
  readonly executor: {
    readonly backend: ExecutorSelection["backend"]
    /** An `ExecutorLimits` as JSON; null for those of the server. */
    readonly limits: string | null
    /** Null before the first one. */
    readonly lease: Lease | null
  }
  readonly tree: WorkingTree
  readonly agent: AgentState
  readonly lineage: Lineage
  readonly turns: {
    /** The turn that has left the queue and has not ended. */
    readonly active: { readonly id: TurnId; readonly state: TurnState } | null
    readonly queued: number
    /** Interrupted turns that nobody has acknowledged yet. */
    readonly held: number
  }
  readonly budgets: {
    /** A `Budget`, as `budgetIn` reads it; null for none. */
    readonly own: string | null
    /** 0 where nothing in the installation has a budget, so that nobody has to ask. */
    readonly any: number
  }
  readonly lifecycle: SessionLifecycle
  readonly usage: string
  readonly event_watermark: number
  readonly version: number
  readonly created_at: Timestamp
  readonly updated_at: Timestamp
  readonly archived_at: Timestamp | null
  readonly closed_at: Timestamp | null
}

/** A session that a principal may see, with the role of the principal in its workspace. */
export interface SeenSession extends SessionRow {
  readonly role: Role
}

/** A new session: it has no turns and no lease, nothing was said in it, and its states are the first ones. */
export interface NewSession
  extends Pick<
    SessionRow,
    | "id"
    | "workspace_id"
    | "project"
    | "title"
    | "labels"
    | "provider_id"
    | "model"
    | "connection_id"
    | "options"
    | "permissions"
    | "auto_capture"
    | "lineage"
    | "created_at"
  > {
  readonly executor: Omit<SessionRow["executor"], "lease">
  readonly tree: Omit<WorkingTree, "state">
}

/** The columns that clients change. */
export type SessionUpdate = Partial<
  Pick<SessionRow, "title" | "labels" | "model" | "auto_capture" | "options" | "permissions">
> &
  Partial<Pick<WorkingTree, "repository" | "git_connection">>

/** The state of the newest lease; `none` before the first one. */
export const leaseStateOf = ({ executor }: Pick<SessionRow, "executor">): LeaseState => executor.lease?.state ?? "none"
