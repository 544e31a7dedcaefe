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
} from "../domain/Ids.js"
import type { Role } from "../domain/Role.js"
import type { Timestamp } from "../domain/Timestamp.js"
import type { ExecutorSelection } from "../projects/Project.js"
import type { LeaseState, LinkKind, SessionLifecycle, WorkspaceState } from "./Session.js"
import type { TurnState } from "./Turn.js"

/** A session as it is stored, with the counts and the state of its turns. */
export interface SessionRow {
  readonly id: SessionId
  readonly workspace_id: WorkspaceId
  readonly project_id: ProjectId | null
  readonly project_version_id: ProjectVersionId | null
  readonly title: string | null
  readonly labels: string
  readonly provider_id: string
  readonly model: string | null
  readonly connection_id: ConnectionId | null
  readonly backend: ExecutorSelection["backend"]
  /** An `ExecutorLimits` as JSON; null for those of the server. */
  readonly executor_limits: string | null
  readonly lease_id: LeaseId | null
  readonly lease_state: LeaseState
  readonly lease_created_at: Timestamp | null
  readonly lease_used_at: Timestamp | null
  readonly workspace_state: WorkspaceState
  readonly repository: string | null
  readonly base_ref: string | null
  readonly base_commit: string | null
  /** A `SparseFolders` as JSON; null for the whole tree. */
  readonly sparse: string | null
  readonly parent_session_id: SessionId | null
  readonly parent_delegation_id: DelegationId | null
  /** The API key that the session was made with, or that the session was made with which it works for; null for none. */
  readonly api_key_id: ApiKeyId | null
  /** A `WorkspaceSeed` as JSON; null for a workspace that begins with its base alone. */
  readonly seed: string | null
  readonly linked_from_session_id: SessionId | null
  readonly link_kind: LinkKind | null
  readonly native_session_id: string | null
  /** The native session that the running turn has opened. It becomes that of the session once a model has answered in it. */
  readonly native_candidate: string | null
  readonly native_digest: string | null
  /** `fixed` when the native session began at the paths of `agentPlaces`; null for those of the machine. */
  readonly native_paths: string | null
  /** The cost that the agent had counted at the end of its last turn, in US dollars, since its native session began; null for none. */
  readonly native_cost: number | null
  readonly context_lost: number
  readonly auto_capture: number
  /** An `OptionChoices` as JSON; null for those of the agent. */
  readonly options: string | null
  /** A `PermissionPolicy` as JSON; null for the provider's own. */
  readonly permissions: string | null
  /** The digests of what the agent has reported of itself last, by type of event, as JSON; null for nothing. */
  readonly told: string | null
  readonly lifecycle: SessionLifecycle
  readonly usage: string
  readonly event_watermark: number
  readonly message_count: number
  readonly turn_count: number
  readonly version: number
  readonly created_at: Timestamp
  readonly updated_at: Timestamp
  readonly archived_at: Timestamp | null
  readonly closed_at: Timestamp | null
  /** The time at which its deletion was asked for. Nobody sees it from then on. */
  readonly deleting_at: Timestamp | null
  readonly active_turn_id: TurnId | null
  readonly active_turn_state: TurnState | null
  readonly queued_turns: number
  /** Interrupted turns that nobody has acknowledged yet. */
  readonly held_turns: number
  /** A `Budget`, as `budgetIn` reads it; null for none. */
  readonly budget: string | null
  /** 0 where nothing in the installation has a budget, so that nobody has to ask. */
  readonly any_budget: number
}

/** A session that a principal may see, with the role of the principal in its workspace. */
export interface SeenSession extends SessionRow {
  readonly role: Role
}

/** The columns of a new session: it has no turns, nothing was said in it, and its states are the first ones. */
export type NewSession = Omit<
  SessionRow,
  | keyof typeof noTurns
  | "lease_id"
  | "lease_state"
  | "lease_created_at"
  | "lease_used_at"
  | "workspace_state"
  | "native_session_id"
  | "native_candidate"
  | "native_cost"
  | "native_digest"
  | "native_paths"
  | "context_lost"
  | "told"
  | "lifecycle"
  | "usage"
  | "event_watermark"
  | "message_count"
  | "turn_count"
  | "version"
  | "updated_at"
  | "archived_at"
  | "closed_at"
  | "deleting_at"
>

/** The columns that clients change. */
export type SessionUpdate = Partial<
  Pick<SessionRow, "title" | "labels" | "model" | "auto_capture" | "options" | "permissions" | "repository">
>

/** The columns that its work changes, apart from the states. */
export type SessionChange = Partial<
  Pick<
    SessionRow,
    | "backend"
    | "lease_used_at"
    | "base_ref"
    | "base_commit"
    | "native_session_id"
    | "native_candidate"
    | "native_digest"
    | "native_paths"
    | "native_cost"
    | "context_lost"
    | "told"
  >
>

/** The columns of a new session that are read with it: it has no turns and no budget, and budgets above it are looked up. */
export const noTurns = {
  active_turn_id: null,
  active_turn_state: null,
  queued_turns: 0,
  held_turns: 0,
  budget: null,
  any_budget: 1
}
