import { fn } from "@reins/base/base/Traced"
import type { WorkspaceId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import { type Principal, stranger } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import type { Role } from "@reins/base/domain/Role"
import { Context, Effect, Layer, type Redacted } from "effect"
import { Access, type Denied, type ScopeMissing, type Unseen } from "../access/Access.js"
import type { Command } from "../store/Command.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import type { Member } from "./Account.js"
import { AccountStore, normaliseEmail } from "./AccountStore.js"
import { ApiKeyStore } from "./ApiKeyStore.js"
import { makeInvite } from "./Invitations.js"
import { MemberStore } from "./MemberStore.js"
import * as OneTimeTokens from "./OneTimeTokens.js"
import { WorkspaceStore } from "./WorkspaceStore.js"
import type { MemberInput } from "./WorkspacesApi.js"

/** The workspace would be left without an owner, or without the account that it is the personal workspace of. */
export type OwnerNeeded = ReinsError<"invalid_transition">

/**
 * The members of a workspace. Only owners change them, and a workspace always has an owner. The account of a personal workspace stays
 * its owner. A change holds from the next request on.
 */
export class Members extends Context.Tag("@reins/core/identity/Members")<
  Members,
  {
    /** The open invitations, newest first, then the members, newest account first. */
    readonly list: (
      principal: Principal,
      workspaceId: string,
      page: PageRequest
    ) => Effect.Effect<Page<Member>, Unseen | ReinsError<"invalid_cursor">>
    /**
     * Gives a member another role. An address that is no member's is invited by mail, and becomes a member with the link in it. The
     * answer and the list do not tell until then whether the address has an account. Inviting it again changes the role of the
     * invitation and prolongs it. An account may send 50 invitations within an hour, then it fails with `rate_limited`; at most 3 mails
     * go to an address within an hour.
     */
    readonly add: (
      principal: Principal,
      workspaceId: string,
      input: typeof MemberInput.Type
    ) => Command<Member, ScopeMissing | Denied | OwnerNeeded | ReinsError<"rate_limited">>
    /** Removes a member and revokes its API keys for the workspace, or withdraws an invitation. Every member may remove itself. */
    readonly remove: (
      principal: Principal,
      workspaceId: string,
      memberId: string
    ) => Command<Member, ScopeMissing | Denied | OwnerNeeded>
    /**
     * Takes the account of the principal out of a workspace and revokes its API keys for it. Its turns and its other keys lose the workspace
     * with the same commit. Fails with `invalid_transition` for the last owner, and for the personal workspace of the account.
     */
    readonly leave: (principal: Principal, workspaceId: string) => Command<Member, ScopeMissing | Denied | OwnerNeeded>
    /**
     * Makes the account with the invited address a member. Fails with `token_expired` when the invitation was used, has expired or was
     * withdrawn. Fails with `email_unverified`, and leaves the token good, when the address has no active account.
     */
    readonly join: (
      token: Redacted.Redacted
    ) => Command<{ readonly workspaceId: WorkspaceId }, ReinsError<"token_expired" | "email_unverified">>
    /** Deletes the invitations that have expired. The statement is a commit of its own. */
    readonly purge: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    Members,
    Effect.gen(function* () {
      const access = yield* Access
      const journal = yield* Journal
      const store = yield* MemberStore
      const steps = yield* makeSteps

      return Members.of({
        list: fn("Members.list")(function* (principal, workspaceId, request) {
          yield* access.read(principal, workspaceId)
          const { before, limit } = yield* Keyset.descending(request)
          const items = yield* store.list(workspaceId, { before, limit: limit + 1 })
          return Keyset.page(items, limit, (member) => member.id)
        }),
        add: (principal, workspaceId, { email, role }) =>
          journal.prepared(
            "Members.add",
            { by: principal, about: { type: "workspace", id: workspaceId } },
            Effect.as(
              access.requireScope(principal, "admin"),
              steps.add(principal, workspaceId, { email: normaliseEmail(email), role })
            )
          ),
        remove: (principal, workspaceId, memberId) =>
          journal.prepared(
            "Members.remove",
            { by: principal, about: { type: "member", id: memberId, of: workspaceId } },
            Effect.as(access.requireScope(principal, "admin"), steps.remove(principal, workspaceId, memberId))
          ),
        leave: (principal, workspaceId) =>
          journal.prepared(
            "Members.leave",
            { by: principal, about: { type: "workspace", id: workspaceId }, refusable: false },
            Effect.as(
              access.requireScope(principal, "admin"),
              steps.remove(principal, workspaceId, principal.accountId)
            )
          ),
        join: (token) =>
          journal.command("Members.join", { by: stranger, about: { type: "invitation", id: null } }, steps.join(token)),
        purge: store.purge
      })
    })
  )
}

/** The commands as parts of a commit. */
const makeSteps = Effect.gen(function* () {
  const db = yield* Database
  const access = yield* Access
  const accounts = yield* AccountStore
  const apiKeys = yield* ApiKeyStore
  const store = yield* MemberStore
  const workspaces = yield* WorkspaceStore
  const invite = yield* makeInvite

  /** Fails when the workspace needs this member as an owner. */
  const requireOtherOwner = Effect.fnUntraced(function* (workspaceId: string, member: Member) {
    if (member.role !== "owner") return
    const workspace = yield* workspaces.lock(workspaceId)
    if (workspace?.personal_account_id === member.id) return yield* isPersonal
    if (!(yield* store.hasOtherOwner(workspaceId, member.id))) return yield* isLastOwner
  })

  return {
    add: Effect.fnUntraced(function* (
      principal: Principal,
      id: string,
      { email, role }: { readonly email: string; readonly role: Role }
    ) {
      // Changes of the members of a workspace wait for each other. Two owners could remove each other otherwise.
      const workspace = yield* workspaces.lock(id)
      yield* access.own(principal, id)
      if (workspace === undefined) return yield* notFound()
      const member = yield* store.findByEmail(id, email)
      if (member === undefined || member.account_id === null)
        return yield* invite({ workspaceId: workspace.id, email, role, invitedBy: principal.accountId })
      if (role !== "owner") yield* requireOtherOwner(id, member)
      yield* store.setRole(workspace.id, member.account_id, role)
      return { ...member, role }
    }),
    remove: Effect.fnUntraced(function* (principal: Principal, workspaceId: string, memberId: string) {
      yield* workspaces.lock(workspaceId)
      const isSelf = memberId === principal.accountId
      yield* isSelf ? access.read(principal, workspaceId) : access.own(principal, workspaceId)
      const invited = yield* store.findInvited(workspaceId, memberId)
      if (invited !== undefined) {
        yield* store.withdraw(memberId)
        return invited
      }
      const member = yield* store.find(workspaceId, memberId)
      if (member === undefined) return yield* notFound()
      yield* requireOtherOwner(workspaceId, member)
      yield* store.remove(workspaceId, memberId)
      yield* apiKeys.revokeBound(memberId, workspaceId)
      return member
    }),
    join: Effect.fnUntraced(function* (token: Redacted.Redacted) {
      const invitationId = yield* OneTimeTokens.use(db, "join_workspace", token)
      const invitation = invitationId === undefined ? undefined : yield* store.findStanding(invitationId)
      if (invitation === undefined) return yield* invitationGone
      const account = yield* accounts.lockByEmail(invitation.email)
      if (account?.state !== "active") return yield* accountNeeded
      yield* store.join(invitation, account.id)
      return { workspaceId: invitation.workspace_id }
    })
  }
})

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
