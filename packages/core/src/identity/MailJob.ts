import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import type { AccountId, InvitationId } from "@reins/base/domain/Ids"
import { Effect, Schema } from "effect"
import { type Completion, JobError, type JobKind, type RunningAttempt } from "../jobs/JobKind.js"
import type { NewJob } from "../jobs/JobStore.js"
import { Database } from "../store/Database.js"
import type { AccountState } from "./Account.js"
import { type AccountRow, AccountStore } from "./AccountStore.js"
import { Mailer } from "./Mailer.js"
import * as Templates from "./MailTemplates.js"
import { MemberStore } from "./MemberStore.js"
import * as OneTimeTokens from "./OneTimeTokens.js"

const AccountTemplate = Schema.Literal("verify_email", "already_registered", "reset_password", "password_changed")
/** A mail to the owner of an account. */
export type AccountTemplate = typeof AccountTemplate.Type

const Payload = Schema.Union(
  Schema.Struct({ template: AccountTemplate, account_id: Schema.String }),
  Schema.Struct({ template: Schema.Literal("invitation"), invitation_id: Schema.String }),
  Schema.Struct({
    template: Schema.Literal("webhook_disabled"),
    account_id: Schema.String,
    endpoint_id: Schema.String,
    host: Schema.String,
    reason: Schema.String
  }),
  Schema.Struct({
    template: Schema.Literal("automation_paused"),
    account_id: Schema.String,
    automation_id: Schema.String,
    name: Schema.String,
    reason: Schema.String
  }),
  Schema.Struct({
    template: Schema.Literal("care_handed_over"),
    account_id: Schema.String,
    merge_request_id: Schema.String,
    title: Schema.String,
    reason: Schema.String
  })
)

const kind = "mail.send"

const job = (subject: NewJob["subject"], payload: typeof Payload.Type): NewJob => ({
  kind,
  subject,
  workspaceId: null,
  payload,
  maxAttempts: 5
})

/** The job that sends a mail to the owner of an account. It sends nothing when the account has left the state that the mail is about. */
export const mailTo = (accountId: AccountId, template: AccountTemplate): NewJob =>
  job({ type: "account", id: accountId }, { template, account_id: accountId })

/** The job that sends the mail of an invitation. It sends nothing when the invitation no longer counts. */
export const inviteBy = (invitationId: InvitationId): NewJob =>
  job({ type: "invitation", id: invitationId }, { template: "invitation", invitation_id: invitationId })

/** The job that tells an owner of a workspace that a webhook endpoint was disabled, where it leads and why. */
export const webhookMailTo = (
  accountId: AccountId,
  { host, id, reason }: { readonly id: string; readonly host: string; readonly reason: string }
): NewJob =>
  job(
    { type: "account", id: accountId },
    { template: "webhook_disabled", account_id: accountId, endpoint_id: id, host, reason }
  )

/** The job that tells somebody that an automation was paused by itself, and why. */
export const automationMailTo = (
  accountId: AccountId,
  { id, name, reason }: { readonly id: string; readonly name: string; readonly reason: string }
): NewJob =>
  job(
    { type: "account", id: accountId },
    { template: "automation_paused", account_id: accountId, automation_id: id, name, reason }
  )

/** The job that tells somebody that a merge request is left to a person, and why. */
export const careMailTo = (
  accountId: AccountId,
  { id, reason, title }: { readonly id: string; readonly title: string; readonly reason: string }
): NewJob =>
  job(
    { type: "account", id: accountId },
    { template: "care_handed_over", account_id: accountId, merge_request_id: id, title, reason }
  )

/**
 * Sends mail. A one-time token is made when the mail is sent and only its hash is stored, so that no token lies in the database. A
 * repeated attempt makes a new token. The earlier ones stay good, because their mail may have arrived.
 */
export const make = (
  options: Templates.MailOptions
): Effect.Effect<JobKind, never, AccountStore | Database | Mailer | MemberStore> =>
  Effect.gen(function* () {
    const accounts = yield* AccountStore
    const db = yield* Database
    const mailer = yield* Mailer
    const members = yield* MemberStore

    const issue = (attempt: RunningAttempt, purpose: OneTimeTokens.Purpose, subjectId: string) =>
      attempt.commit(OneTimeTokens.issue(db, purpose, subjectId))

    const composeTo = Effect.fnUntraced(function* (
      attempt: RunningAttempt,
      template: AccountTemplate,
      account: AccountRow
    ) {
      switch (template) {
        case "verify_email":
          return Templates.verifyEmail(options, account, yield* issue(attempt, template, account.id))
        case "reset_password":
          return Templates.resetPassword(options, account, yield* issue(attempt, template, account.id))
        case "already_registered":
          return Templates.alreadyRegistered(options, account)
        case "password_changed":
          return Templates.passwordChanged(options, account)
      }
    })

    /** Undefined when the subject of the mail is gone or has moved on. */
    const compose = Effect.fnUntraced(function* (attempt: RunningAttempt, payload: typeof Payload.Type) {
      if (payload.template === "invitation") {
        const invitation = yield* members.findStanding(payload.invitation_id)
        if (invitation === undefined) return undefined
        const token = yield* issue(attempt, "join_workspace", invitation.id)
        return Templates.invitation(options, invitation, token)
      }
      const account = yield* accounts.find(payload.account_id)
      if (payload.template === "webhook_disabled")
        return account?.state === "active" ? Templates.webhookDisabled(options, account, payload) : undefined
      if (payload.template === "automation_paused")
        return account?.state === "active" ? Templates.automationPaused(options, account, payload) : undefined
      if (payload.template === "care_handed_over")
        return account?.state === "active" ? Templates.careHandedOver(options, account, payload) : undefined
      if (account?.state !== stateFor[payload.template]) return undefined
      return yield* composeTo(attempt, payload.template, account)
    })

    return {
      kind,
      concurrency: 4,
      deadlineMs: 2 * 60 * 1000,
      run: fn("MailJob.run")(function* (attempt) {
        const payload = yield* Effect.orDie(Schema.decodeUnknown(Payload)(attempt.claim.payload))
        const mail = yield* compose(attempt, payload)
        if (mail === undefined) return done
        yield* failpoint("mail.composed")
        yield* mailer.send(mail, attempt.claim.jobId).pipe(
          Effect.mapError(
            (refused) =>
              new JobError({
                code: "mail_refused",
                message: `The mail could not be handed over (${refused.code}). Check the mail server settings.`,
                retryable: refused.retryable
              })
          )
        )
        yield* failpoint("mail.sent")
        return done
      }),
      failed: (claim, failure) =>
        Effect.logError("a mail was given up", { job_id: claim.jobId, code: failure.code, message: failure.message }),
      lost: () => Effect.succeed({ next: "retry", command: Effect.void })
    }
  })

const done: Completion = { state: "succeeded", command: Effect.void }

/** The state that an account has to be in for its mail to make sense. */
const stateFor: Record<AccountTemplate, AccountState> = {
  verify_email: "unverified",
  already_registered: "active",
  reset_password: "active",
  password_changed: "active"
}
