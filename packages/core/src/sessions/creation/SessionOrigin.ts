import type { ChangesetId, ConnectionId, DelegationId, SessionId } from "@reins/base/domain/Ids"
import type { HarnessSelection } from "../../projects/Project.js"
import type { LinkKind } from "../rows/Session.js"
import type { Lineage, SessionRow, WorkingTree } from "../rows/SessionRow.js"
import { gitChoiceOf } from "./GitChoice.js"
import type { SessionInput } from "./SessionsApi.js"

/** The tree of a sealed changeset that a workspace takes on top of the base commit of that changeset. */
export interface WorkspaceSeed {
  readonly changeset_id: ChangesetId
  readonly session_id: SessionId
  readonly base_commit: string | null
  readonly tree: string
}

/** A session that works for another one. Its workspace starts from the base of `source`, and then takes the seed. */
export interface ChildSession {
  readonly delegationId: DelegationId
  readonly title: string
  /** Where it is undefined, the child has the provider, the connection and the model of its parent. */
  readonly harness: HarnessSelection | undefined
  readonly source: Pick<SessionRow, "project" | "tree">
  readonly seed: WorkspaceSeed | null
}

/** A session that goes on from another one with another provider, and takes over its project, repository, title and labels. */
export interface LinkedSession {
  readonly kind: LinkKind
  readonly harness: HarnessSelection
  readonly connectionId: ConnectionId | undefined
  /** The workspace starts with it. With null it starts from the present head of the repository. */
  readonly seed: WorkspaceSeed | null
}

/** The start of the files of a session, beyond what was asked for. */
type GivenFiles = Pick<WorkingTree, "base_commit" | "seed">

/** A session to be made: what is asked for, and where it comes from. */
export interface SessionOrigin {
  readonly input: SessionInput
  readonly files: GivenFiles
  readonly lineage: Omit<Lineage, "api_key_id">
}

const noFiles: GivenFiles = { base_commit: null, seed: null }

const ownLineage: SessionOrigin["lineage"] = {
  parent_session_id: null,
  parent_delegation_id: null,
  linked_from_session_id: null,
  link_kind: null
}

/** The origin of a session that a client asks for. */
export const ofRequest = (input: SessionInput): SessionOrigin => ({ input, files: noFiles, lineage: ownLineage })

/** The origin of the child session of a delegation. */
export const ofChild = (
  parent: SessionRow,
  { delegationId, harness, seed, source, title }: ChildSession
): SessionOrigin => {
  const isSameProvider = harness === undefined || harness.provider_id === parent.provider_id
  const model = harness?.model ?? (isSameProvider ? parent.model : null)
  const options =
    harness?.options ?? (isSameProvider && parent.options !== null ? JSON.parse(parent.options) : undefined)
  return {
    input: {
      title,
      harness: {
        provider_id: harness?.provider_id ?? parent.provider_id,
        ...(model !== null && { model }),
        ...(options && { options })
      },
      ...permissionsOf(parent),
      executor: executorOf(parent),
      ...(isSameProvider && parent.connection_id !== null && { connection_id: parent.connection_id }),
      ...sourceOf(source)
    },
    files: { base_commit: source.tree.base_commit, seed: seed === null ? null : JSON.stringify(seed) },
    lineage: { ...ownLineage, parent_session_id: parent.id, parent_delegation_id: delegationId }
  }
}

/** The origin of a session that goes on from another one. */
export const ofLink = (from: SessionRow, { connectionId, harness, kind, seed }: LinkedSession): SessionOrigin => {
  const isSameProvider = harness.provider_id === from.provider_id
  const connection = connectionId ?? (isSameProvider ? (from.connection_id ?? undefined) : undefined)
  return {
    input: {
      harness,
      executor: executorOf(from),
      labels: JSON.parse(from.labels),
      auto_capture: from.auto_capture === 1,
      ...permissionsOf(from),
      ...(from.title !== null && { title: from.title }),
      ...(connection !== undefined && { connection_id: connection }),
      ...sourceOf(from)
    },
    files: seed === null ? noFiles : { base_commit: seed.base_commit, seed: JSON.stringify(seed) },
    lineage: { ...ownLineage, linked_from_session_id: from.id, link_kind: kind }
  }
}

/** A session that works for another one, or goes on from it, may do by itself what that one may do. */
const permissionsOf = ({ permissions }: SessionRow): Pick<SessionInput, "permissions"> =>
  permissions === null ? {} : { permissions: JSON.parse(permissions) }

/** A session that works for another one, or goes on from it, may take what that one may take. */
const executorOf = ({ executor }: SessionRow): NonNullable<SessionInput["executor"]> => ({
  backend: executor.backend,
  ...(executor.limits !== null && { limits: JSON.parse(executor.limits) })
})

/** The connection for git that a caller has named, or none if that was said. One that the service has chosen is chosen anew. */
const namedConnection = (tree: Pick<WorkingTree, "git_connection">) => {
  const { id, named } = gitChoiceOf(tree)
  return named ? { connection_id: id } : {}
}

/** The project version and the repository of a session, as a request asks for them. */
const sourceOf = ({
  project,
  tree
}: Pick<SessionRow, "project" | "tree">): Pick<SessionInput, "project_version_id" | "repository"> => ({
  ...(project !== null && { project_version_id: project.version_id }),
  ...(tree.repository !== null && {
    repository: {
      url: tree.repository,
      ...(tree.base_ref !== null && { base_ref: tree.base_ref }),
      ...namedConnection(tree),
      ...(tree.sparse !== null && { sparse: JSON.parse(tree.sparse) })
    }
  })
})
