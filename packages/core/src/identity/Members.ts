import { Context, Effect, Layer, type Redacted } from "effect"
import { Access } from "../access/Access.js"
import type { MemberInput } from "../api/WorkspacesApi.js"
import { fn } from "../base/Traced.js"
import type { Member, Role } from "../domain/Account.js"
import { InvitationId, newId, type WorkspaceId } from "../domain/Ids.js"
import type { Page, PageRequest } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { fromNow, now } from "../domain/Timestamp.js"
import { JobStore } from "../jobs/JobStore.js"
import type { Command } from "../store/Command.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import { lockByEmail, normaliseEmail } from "./AccountRow.js"
import { ApiKeys } from "./ApiKeys.js"
import { findStanding } from "./InvitationRow.js"
import { inviteBy } from "./MailJob.js"
import * as OneTimeTokens from "./OneTimeTokens.js"
import * as Throttle from "./Throttle.js"

/**
 * Who may use a workspace. Only owners change that, and a workspace always has one; the account of a personal workspace stays its
 * owner. A change holds from the next request on.
 */
export class Members extends Context.Tag("@reins/core/identity/Members")<
  Members,
  {
    /** The open invitations, newest first, then the members, newest account first. */
    readonly list: (
      principal: Principal,
      workspaceId: string,
      page: PageRequest
    ) => Effect.Effect<Page<Member>, ReinsError>
    /**
     * Gives a member another role. Anybody else is invited by mail and becomes a member with the link in it: what is answered, and
     * listed until then, does not depend on whether the address has an account. Inviting it again changes the role of the
     * invitation and prolongs it. At most 50 invitations of an account in an hour, then `rate_limited`; at most 3 mails go to an
     * address in an hour.
     */
    readonly add: (
      principal: Principal,
      workspaceId: string,
      input: typeof MemberInput.Type
    ) => Command<Member, ReinsError>
    /**
     * Removes a member, whose API keys for the workspace are revoked, or takes back an invitation. Every member may
     * remove itself.
     */
    readonly remove: (principal: Principal, workspaceId: string, memberId: string) => Command<Member, ReinsError>
    /**
     * Makes the account with the invited address a member. Fails with `token_expired` when the invitation was used, has expired or
     * was taken back, and with `email_unverified`, which leaves the token good, when the address has no active account.
     */
    readonly join: (token: Redacted.Redacted) => Command<{ readonly workspaceId: WorkspaceId }, ReinsError>
    /** Deletes the invitations that have expired. */
    readonly purge: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    Members,
    Effect.gen(function* () {
      const db = yield* Database
      const { sql } = db
      const access = yield* Access
      const apiKeys = yield* ApiKeys
      const journal = yield* Journal
      const jobs = yield* JobStore
      const throttle = yield* Throttle.make

      /** Changes of the members of a workspace wait for each other, so that the last owner is known. */
      const lock = (workspaceId: string) =>
        db.first(sql<{ personal_account_id: string | null }>`select personal_account_id from workspaces
          where id = ${workspaceId}${db.forUpdate}`)

      const select = sql`select accounts.id, account_id, email, display_name, role, 'active' as state,
        cast(null as text) as expires_at, workspace_members.created_at
        from workspace_members join accounts on accounts.id = account_id`
      const selectInvited = sql`select id, cast(null as text) as account_id, email, cast(null as text) as display_name,
        role, 'invited' as state, expires_at, created_at from workspace_invitations`

      /** Fails when the workspace would be without an owner, or without the one whom it belongs to. */
      const keepOwner = Effect.fnUntraced(function* (workspaceId: string, member: Member) {
        if (member.role !== "owner") return
        const workspace = yield* lock(workspaceId)
        if (workspace?.personal_account_id === member.id) return yield* isPersonal
        const other = yield* db.first(sql`select account_id from workspace_members
          join accounts on accounts.id = account_id and accounts.state = 'active'
          where workspace_id = ${workspaceId} and role = 'owner' and account_id <> ${member.id} limit 1`)
        if (other === undefined) return yield* isLastOwner
      })

      const setRole = Effect.fnUntraced(function* (workspaceId: string, member: Member, role: Role) {
        if (role !== "owner") yield* keepOwner(workspaceId, member)
        yield* db.run(sql`update workspace_members set role = ${role}
          where workspace_id = ${workspaceId} and account_id = ${member.id}`)
        return { ...member, role }
      })

      const invite = Effect.fnUntraced(function* (
        principal: Principal,
        workspaceId: string,
        email: string,
        role: Role
      ) {
        const wait = yield* throttle.retryAfterSeconds(inviterLimit, principal.accountId)
        if (wait !== undefined) return yield* tooManyInvitations(wait)
        yield* throttle.hit(inviterLimit, principal.accountId)
        const row = {
          id: yield* newId(InvitationId),
          workspace_id: workspaceId,
          email,
          role,
          invited_by: principal.accountId,
          created_at: yield* now,
          expires_at: yield* fromNow(OneTimeTokens.invitationMs)
        }
        const invited = yield* db.first(sql<{ id: InvitationId }>`insert into workspace_invitations ${sql.insert(row)}
          on conflict (workspace_id, email) do update set role = excluded.role, invited_by = excluded.invited_by,
            expires_at = excluded.expires_at returning id`)
        const id = invited?.id ?? row.id
        if (yield* throttle.take(Throttle.mailLimit, email)) yield* jobs.enqueue(inviteBy(id))
        const member = yield* db.first(sql<Member>`${selectInvited} where id = ${id}`)
        return member ?? (yield* notFound())
      })

      return Members.of({
        list: fn("Members.list")(function* (principal, workspaceId, request) {
          yield* access.read(principal, workspaceId)
          const { before, limit } = yield* Keyset.descending(request)
          const at = yield* now
          const rows = yield* db.all(sql<Member>`select * from (
              ${select} where workspace_id = ${workspaceId}
              union all
              ${selectInvited} where workspace_id = ${workspaceId} and expires_at > ${at}
            ) as listed where id < ${before} order by id desc limit ${limit + 1}`)
          return Keyset.page(rows, limit, (member) => member.id)
        }),
        add: (principal, workspaceId, { email: given, role }) =>
          journal.prepared(
            "Members.add",
            Effect.gen(function* () {
              yield* access.requireScope(principal, "admin")
              const email = normaliseEmail(given)
              return Effect.gen(function* () {
                yield* lock(workspaceId)
                yield* access.own(principal, workspaceId)
                const member = yield* db.first(
                  sql<Member>`${select} where workspace_id = ${workspaceId} and email = ${email}`
                )
                return member === undefined
                  ? yield* invite(principal, workspaceId, email, role)
                  : yield* setRole(workspaceId, member, role)
              })
            })
          ),
        remove: (principal, workspaceId, memberId) =>
          journal.prepared(
            "Members.remove",
            Effect.gen(function* () {
              yield* access.requireScope(principal, "admin")
              return Effect.gen(function* () {
                yield* lock(workspaceId)
                yield* memberId === principal.accountId
                  ? access.read(principal, workspaceId)
                  : access.own(principal, workspaceId)
                const invited = yield* db.first(sql<Member>`${selectInvited}
                where id = ${memberId} and workspace_id = ${workspaceId}`)
                if (invited !== undefined) {
                  yield* db.run(sql`delete from workspace_invitations where id = ${memberId}`)
                  return invited
                }
                const member = yield* db.first(sql<Member>`${select}
                where workspace_id = ${workspaceId} and account_id = ${memberId}`)
                if (member === undefined) return yield* notFound()
                yield* keepOwner(workspaceId, member)
                yield* db.run(sql`delete from workspace_members
                where workspace_id = ${workspaceId} and account_id = ${memberId}`)
                yield* apiKeys.revokeBound(memberId, workspaceId)
                return member
              })
            })
          ),
        join: (token) =>
          journal.command(
            "Members.join",
            Effect.gen(function* () {
              const invitationId = yield* OneTimeTokens.use(db, "join_workspace", token)
              const at = yield* now
              const invitation = invitationId === undefined ? undefined : yield* findStanding(db, invitationId, at)
              if (invitation === undefined) return yield* invitationGone
              const account = yield* lockByEmail(db, invitation.email)
              if (account?.state !== "active") return yield* accountNeeded
              const row = {
                workspace_id: invitation.workspace_id,
                account_id: account.id,
                role: invitation.role,
                created_at: at
              }
              yield* db.run(sql`insert into workspace_members ${sql.insert(row)} on conflict do nothing`)
              yield* db.run(sql`delete from workspace_invitations where id = ${invitation.id}`)
              return { workspaceId: invitation.workspace_id }
            })
          ),
        purge: Effect.flatMap(now, (at) => db.run(sql`delete from workspace_invitations where expires_at <= ${at}`))
      })
    })
  )
}

const inviterLimit: Throttle.Limit = { kind: "invitations", max: 50, windowMs: 60 * 60 * 1000 }

const tooManyInvitations = (seconds: number): ReinsError =>
  Throttle.rateLimited(
    "invitations",
    inviterLimit,
    seconds,
    `You sent ${inviterLimit.max} invitations within an hour. Wait ${seconds} seconds before the next one.`
  )

const isLastOwner = new ReinsError({
  code: "invalid_transition",
  message: "A workspace needs an owner, and this is the last one. Make somebody else an owner first."
})

const isPersonal = new ReinsError({
  code: "invalid_transition",
  message: "This is the personal workspace of that account, which stays its owner."
})

const invitationGone = new ReinsError({
  code: "token_expired",
  message: "This invitation was used, has expired or was taken back. Ask whoever invited you for a new one."
})

const accountNeeded = new ReinsError({
  code: "email_unverified",
  message:
    "There is no active account with the address that was invited. Register and verify it, then open the link again."
})
