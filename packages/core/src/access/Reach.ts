import type { Principal } from "@reins/base/domain/Principal"
import type { Role } from "@reins/base/domain/Role"

// Owns what is taken from the rights of an account for whoever acts for it. Nothing here gives a right: every answer is at most the role of the
// account, which its caller has read for this call.

/**
 * The role of a principal in a workspace, where its account has the given one. Null for a workspace that it does not reach. An automation and a care are members
 * at most, so they change no members, budgets and webhooks. A turn changes nothing there but what `roleWithin` tells. A share sees nothing there but
 * what `roleWithin` tells.
 */
export const roleOf = (principal: Principal, workspaceId: string, role: Role | null): Role | null => {
  if (principal.workspaceId !== null && principal.workspaceId !== workspaceId) return null
  if (principal.via.kind === "turn") return atMost("viewer", role)
  if (principal.via.kind === "share") return null
  return principal.via.kind === "automation" || principal.via.kind === "care" ? atMost("member", role) : role
}

/**
 * The role of a principal towards what belongs to any of the sessions, where its account has the given one in their workspace. A turn reaches its own
 * session and those that work for it. So a session is named with the one that it works for, and a delegation with both of its sessions. A share shows
 * its own session, which is named first, while its account may change it.
 */
export const roleWithin = (
  principal: Principal,
  workspaceId: string,
  sessionIds: ReadonlyArray<string | null>,
  role: Role | null
): Role | null => {
  if (principal.via.kind === "share") {
    const isOwn = principal.workspaceId === workspaceId && sessionIds[0] === principal.via.sessionId
    return isOwn && role !== "viewer" ? atMost("viewer", role) : null
  }
  const reached = roleOf(principal, workspaceId, role)
  if (principal.via.kind !== "turn" || reached === null) return reached
  return sessionIds.includes(principal.via.sessionId) ? atMost("member", role) : null
}

const ranks: ReadonlyArray<Role | null> = [null, "viewer", "member", "owner"]

const atMost = (most: Role, role: Role | null): Role | null => (ranks.indexOf(role) > ranks.indexOf(most) ? most : role)
