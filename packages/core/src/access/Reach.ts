import type { Principal } from "../domain/Principal.js"
import type { Role } from "../domain/Role.js"

// Owns what is taken from the rights of an account for whoever acts for it. Nothing here gives a right: every answer is at most the role of the
// account, which its caller has read for this call.

/**
 * The role of a principal in a workspace, where its account has the given one. Null for a workspace that it does not reach. Turns and automations
 * are members at most, so they change no members, budgets and webhooks.
 */
export const roleOf = (principal: Principal, workspaceId: string, role: Role | null): Role | null => {
  if (principal.workspaceId !== null && principal.workspaceId !== workspaceId) return null
  return role === "owner" && isActing(principal) ? "member" : role
}

/**
 * True when a principal reaches what belongs to any of the sessions. A turn reaches its own session and those that work for it, so a session counts
 * with the one that it works for, and a delegation with both of its sessions.
 */
export const isReached = ({ via }: Principal, sessionIds: ReadonlyArray<string | null>): boolean =>
  via.kind !== "turn" || sessionIds.includes(via.sessionId)

const isActing = ({ via }: Principal): boolean => via.kind === "turn" || via.kind === "automation"
