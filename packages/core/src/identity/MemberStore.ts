import { type AccountId, InvitationId, newId, type WorkspaceId } from "@reins/base/domain/Ids"
import type { Role } from "@reins/base/domain/Role"
import { fromNow, now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import * as Memberships from "../access/Memberships.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import type { Member } from "./Account.js"
import * as OneTimeTokens from "./OneTimeTokens.js"

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

/** A person who is to be invited. The address is given as `normaliseEmail` makes it. */
export interface NewInvitation {
  readonly workspaceId: WorkspaceId
  readonly email: string
  readonly role: Role
  readonly invitedBy: AccountId
}

/** The rows of members and invitations. */
export class MemberStore extends Context.Tag("@reins/core/identity/MemberStore")<
  MemberStore,
  {
    /** The members and open invitations of a workspace with an id below `before`: first the invitations, each newest first. */
    readonly list: (
      workspaceId: string,
      page: { readonly before: string; readonly limit: number }
    ) => Effect.Effect<ReadonlyArray<Member>>
    /** The account as a member. Undefined when it does not belong to the workspace. */
    readonly find: (workspaceId: string, accountId: string) => Effect.Effect<Member | undefined>
    /** The account of an address as a member. Undefined when it does not belong to the workspace. */
    readonly findByEmail: (workspaceId: string, email: string) => Effect.Effect<Member | undefined>
    /** True when an active account besides the given one is an owner of the workspace. */
    readonly hasOtherOwner: (workspaceId: string, accountId: string) => Effect.Effect<boolean>
    /** Makes the invited account a member and ends the invitation. */
    readonly join: (invitation: InvitationRow, accountId: AccountId) => Effect.Effect<void, never, Commit>
    /** Gives a member another role. The caller keeps an owner in the workspace. */
    readonly setRole: (workspaceId: WorkspaceId, accountId: AccountId, role: Role) => Effect.Effect<void, never, Commit>
    /** Removes a member. The caller keeps an owner in the workspace. */
    readonly remove: (workspaceId: string, accountId: string) => Effect.Effect<void, never, Commit>
    /** Invites an address. An address that is invited already gets the new role, inviter and expiry. */
    readonly invite: (invitation: NewInvitation) => Effect.Effect<Member & { readonly id: InvitationId }, never, Commit>
    /** The invitation as it is listed, also when it has expired. */
    readonly findInvited: (workspaceId: string, invitationId: string) => Effect.Effect<Member | undefined>
    /** An invitation counts until it expires, and only while the account that sent it is an active owner. */
    readonly findStanding: (invitationId: string) => Effect.Effect<InvitationRow | undefined>
    /** Deletes an invitation, whose link then opens nothing. */
    readonly withdraw: (invitationId: string) => Effect.Effect<void, never, Commit>
    /** Deletes the invitations that have expired. The statement is a commit of its own. */
    readonly purge: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    MemberStore,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db
      const membersOf = (workspaceId: string) => sql`select accounts.id, account_id, email, display_name, role,
          'active' as state, cast(null as text) as expires_at, members.created_at
        from ${Memberships.membersOf(sql, workspaceId)} as members join accounts on accounts.id = account_id`
      const invitedTo = (workspaceId: string) => sql`select id, cast(null as text) as account_id, email,
          cast(null as text) as display_name, role, 'invited' as state, expires_at, created_at
        from workspace_invitations where workspace_id = ${workspaceId}`
      const withdraw = (invitationId: string) =>
        db.run(sql`delete from workspace_invitations where id = ${invitationId}`)
      return MemberStore.of({
        list: Effect.fnUntraced(function* (workspaceId, { before, limit }) {
          const at = yield* now
          return yield* db.all(sql<Member>`select * from (
              ${membersOf(workspaceId)} union all ${invitedTo(workspaceId)} and expires_at > ${at}
            ) as listed where id < ${before} order by id desc limit ${limit}`)
        }),
        find: (workspaceId, accountId) =>
          db.first(sql<Member>`${membersOf(workspaceId)} where account_id = ${accountId}`),
        findByEmail: (workspaceId, email) => db.first(sql<Member>`${membersOf(workspaceId)} where email = ${email}`),
        hasOtherOwner: (workspaceId, accountId) =>
          Effect.map(
            db.first(sql`select account_id from ${Memberships.membersOf(sql, workspaceId)} as members
              join accounts on accounts.id = account_id and accounts.state = 'active'
              where role = 'owner' and account_id <> ${accountId} limit 1`),
            (other) => other !== undefined
          ),
        join: Effect.fnUntraced(function* ({ id, role, workspace_id }, account_id) {
          yield* Memberships.add(db, { workspace_id, account_id, role, created_at: yield* now })
          yield* withdraw(id)
        }),
        setRole: (workspace_id, account_id, role) => Memberships.setRole(db, { workspace_id, account_id, role }),
        remove: (workspaceId, accountId) => Memberships.removeMembership(db, workspaceId, accountId),
        invite: Effect.fnUntraced(function* ({ email, invitedBy, role, workspaceId }) {
          const row = {
            id: yield* newId(InvitationId),
            workspace_id: workspaceId,
            email,
            role,
            invited_by: invitedBy,
            created_at: yield* now,
            expires_at: yield* fromNow(OneTimeTokens.invitationMs)
          }
          const stored = yield* db.first(sql<Pick<InvitationRow, "id" | "created_at">>`
            insert into workspace_invitations ${sql.insert(row)}
            on conflict (workspace_id, email) do update set role = excluded.role, invited_by = excluded.invited_by,
              expires_at = excluded.expires_at returning id, created_at`)
          const { created_at, expires_at, id } = { ...row, ...stored }
          return { id, account_id: null, email, display_name: null, role, state: "invited", expires_at, created_at }
        }),
        findInvited: (workspaceId, invitationId) =>
          db.first(sql<Member>`${invitedTo(workspaceId)} and id = ${invitationId}`),
        findStanding: Effect.fnUntraced(function* (invitationId) {
          return yield* db.first(sql<InvitationRow>`select workspace_invitations.*, workspaces.name as workspace_name,
              accounts.email as inviter_email
            from workspace_invitations
            join workspaces on workspaces.id = workspace_invitations.workspace_id
            join accounts on accounts.id = invited_by and accounts.state = 'active'
            where workspace_invitations.id = ${invitationId} and workspace_invitations.expires_at > ${yield* now}
            and ${Memberships.isMember(sql, "workspaces.id", "invited_by", "owner")}`)
        }),
        withdraw,
        purge: Effect.flatMap(now, (at) => db.run(sql`delete from workspace_invitations where expires_at <= ${at}`))
      })
    })
  )
}
