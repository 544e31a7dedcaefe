import type { AccountId } from "@reins/base/domain/Ids"
import { operator, type Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer, Redacted } from "effect"
import { Access, actorOf, type ScopeMissing, systemActor, type Unseen } from "../access/Access.js"
import { makePauseAllOf } from "../automations/Pausing.js"
import { AccountStore } from "../identity/AccountStore.js"
import * as PasswordGuesses from "../identity/PasswordGuesses.js"
import { Passwords, type PasswordsBusy } from "../identity/Passwords.js"
import { identityRemoval } from "../identity/Removal.js"
import { WorkspaceStore } from "../identity/WorkspaceStore.js"
import { JobStore } from "../jobs/JobStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import type { AccountDeletionInput, Deletion } from "./DeletionsApi.js"
import { resourceReceipts } from "./ResourceReceipts.js"
import { type Asking, beginWorkspaceDeletion } from "./WorkspaceDeletions.js"

/** The kind of the job that deletes an account. */
export const accountDeletionKind = "account.delete"

/** Others would be left in a workspace without an owner. */
export type HandOverNeeded = ReinsError<"invalid_transition">

/** Deletes accounts for good. What they have made in workspaces of others stays, with the id of the account as its author. */
export class AccountDeletions extends Context.Tag("@reins/core/deletion/AccountDeletions")<
  AccountDeletions,
  {
    /**
     * Deletes the account of the principal, with the workspaces in which nobody else is. Its logins, keys and memberships end with the commit. A job
     * deletes them, its mails and its address. Needs the password, whose failures count like those of logins, and the scope `admin`. A wrong one
     * fails with `invalid_credentials`. Credentials for one workspace are `forbidden`. Fails with `invalid_transition` while the account is the only
     * owner of a workspace with other members.
     */
    readonly deleteOwn: (
      principal: Principal,
      input: AccountDeletionInput,
      client: { readonly clientAddress: string }
    ) => Command<
      Deletion,
      | ScopeMissing
      | Unseen
      | PasswordsBusy
      | HandOverNeeded
      | ReinsError<"forbidden" | "invalid_credentials" | "rate_limited">
    >
    /** The same on behalf of the operator, without the password. An account that is deleted already gives its receipt. */
    readonly deleteFor: (accountId: string) => Command<Deletion, Unseen | HandOverNeeded>
  }
>() {
  static readonly layer = Layer.effect(
    AccountDeletions,
    Effect.gen(function* () {
      const access = yield* Access
      const accounts = yield* AccountStore
      const guesses = yield* PasswordGuesses.make
      const journal = yield* Journal
      const passwords = yield* Passwords
      const receipts = yield* resourceReceipts
      const begin = yield* makeBegin

      return AccountDeletions.of({
        deleteOwn: (principal, { password }, { clientAddress }) =>
          journal.prepared(
            "AccountDeletions.deleteOwn",
            { by: principal, about: { type: "account", id: principal.accountId }, refusable: false },
            Effect.gen(function* () {
              yield* access.requireScope(principal, "admin")
              if (principal.workspaceId !== null) return yield* boundToWorkspace
              const account = (yield* accounts.find(principal.accountId)) ?? (yield* notFound())
              const isRight = passwords.verify(account.password_hash, Redacted.make(password))
              yield* guesses.attempt(
                { email: account.email, clientAddress },
                Effect.map(isRight, (right) => right || undefined),
                wrongPassword
              )
              return begin(account.id, { actor: actorOf(principal), accountId: account.id })
            })
          ),
        deleteFor: (accountId) =>
          journal.command(
            "AccountDeletions.deleteFor",
            { by: operator, about: { type: "account", id: accountId } },
            Effect.gen(function* () {
              const stored = yield* receipts.find(accountId)
              if (stored?.receipt.kind === "account") return stored.receipt
              const account = (yield* accounts.find(accountId)) ?? (yield* notFound())
              return yield* begin(account.id, { actor: systemActor("operator"), accountId: null })
            })
          )
      })
    })
  )
}

const makeBegin = Effect.gen(function* () {
  const accounts = yield* AccountStore
  const jobs = yield* JobStore
  const receipts = yield* resourceReceipts
  const removal = yield* identityRemoval
  const workspaces = yield* WorkspaceStore
  const beginWorkspace = yield* beginWorkspaceDeletion
  const pauseAutomations = yield* makePauseAllOf

  return Effect.fnUntraced(function* (accountId: AccountId, asking: Asking) {
    const account = yield* accounts.find(accountId)
    if (account === undefined || (yield* accounts.lockByEmail(account.email)) === undefined) return yield* notFound()
    // Changes of the members of a workspace wait for each other, so that no workspace is left without an owner.
    for (const { id } of yield* removal.ownedBy(accountId)) yield* workspaces.lock(id)
    const owned = yield* removal.ownedBy(accountId)
    const ownerless = owned.filter(({ others, owners }) => others > 0 && owners === 0)
    if (ownerless.length > 0) return yield* handOverFirst(ownerless.map(({ name }) => name))
    for (const { id } of owned.filter(({ others }) => others === 0)) yield* beginWorkspace(id, asking)
    yield* removal.hideAccount(accountId)
    yield* pauseAutomations("acts_for", accountId)
    const operation = yield* jobs.enqueue({
      kind: accountDeletionKind,
      subject: { type: "account", id: accountId },
      workspaceId: null,
      payload: {},
      // An obstacle to a deletion passes, or the operator mends it.
      maxAttempts: 1_000_000
    })
    return yield* receipts.begin({ kind: "account", id: accountId, workspaceId: null }, asking, operation)
  })
})

const handOverFirst = (names: ReadonlyArray<string>) =>
  new ReinsError({
    code: "invalid_transition",
    message:
      `The account is the only owner of workspaces with other members: ${names.map((name) => `"${name}"`).join(", ")}. ` +
      "Make somebody else an owner of each, or delete it, then delete the account.",
    details: { resource: "account" }
  })

const wrongPassword = new ReinsError({ code: "invalid_credentials", message: "The password is wrong." })

const boundToWorkspace = new ReinsError({
  code: "forbidden",
  message: "These credentials are for one workspace. Delete the account after logging in."
})
