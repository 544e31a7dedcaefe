import type { Effect } from "effect"
import type { Role } from "../domain/Account.js"
import type { AccountId, InvitationId, WorkspaceId } from "../domain/Ids.js"
import type { Timestamp } from "../domain/Timestamp.js"
import type { Database } from "../store/Database.js"

/** An invitation to a workspace, with what its mail tells. */
export interface InvitationRow {
  readonly id: InvitationId
  readonly workspace_id: WorkspaceId
  readonly workspace_name: string
  readonly email: string
  readonly role: Role
  readonly invited_by: AccountId
  readonly inviter_email: string
  readonly created_at: Timestamp
  readonly expires_at: Timestamp
}

/** An invitation counts for as long as whoever sent it is an owner. */
export const findStanding = (
  db: Database["Type"],
  invitationId: string,
  at: Timestamp
): Effect.Effect<InvitationRow | undefined> =>
  db.first(db.sql<InvitationRow>`select workspace_invitations.*, workspaces.name as workspace_name,
      accounts.email as inviter_email
    from workspace_invitations
    join workspaces on workspaces.id = workspace_invitations.workspace_id
    join accounts on accounts.id = invited_by and accounts.state = 'active'
    join workspace_members on workspace_members.workspace_id = workspaces.id
      and workspace_members.account_id = invited_by and workspace_members.role = 'owner'
    where workspace_invitations.id = ${invitationId} and workspace_invitations.expires_at > ${at}`)
