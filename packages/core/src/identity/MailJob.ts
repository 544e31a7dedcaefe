import { Effect, Schema } from "effect"
import { AccountId } from "../domain/Ids.js"
import { fromNow, now } from "../domain/Timestamp.js"
import { type Completion, JobError, type JobKind, type RunningAttempt } from "../jobs/JobKind.js"
import type { NewJob } from "../jobs/Jobs.js"
import { Database } from "../store/Database.js"
import { type AccountRow, findById } from "./AccountRow.js"
import { Mailer } from "./Mailer.js"
import { alreadyRegistered, type MailOptions, verifyEmail } from "./MailTemplates.js"
import * as Token from "./Token.js"

const Payload = Schema.Struct({
  account_id: AccountId,
  template: Schema.Literal("verify_email", "already_registered")
})
export type MailTemplate = (typeof Payload.Type)["template"]

/** How long a link to verify an address can be used. */
export const verificationMs = 24 * 60 * 60 * 1000

/** The job that sends a mail to the owner of an account. */
export const mailTo = (accountId: AccountId, template: MailTemplate): NewJob => ({
  kind,
  subject: { type: "account", id: accountId },
  workspaceId: null,
  payload: { account_id: accountId, template },
  maxAttempts: 5
})

const kind = "mail.send"

/**
 * Sends mail. A one-time token is made when the mail is sent and only its hash is stored, so no token lies in the database. An
 * attempt that is repeated makes a new token; the ones before it stay good, since their mail may have arrived.
 */
export const make = (options: MailOptions): Effect.Effect<JobKind, never, Database | Mailer> =>
  Effect.gen(function* () {
    const db = yield* Database
    const mailer = yield* Mailer

    const issueToken = Effect.fnUntraced(function* (attempt: RunningAttempt, account: AccountRow) {
      const token = yield* Token.random
      const row = {
        hash: Token.digest(token),
        account_id: account.id,
        purpose: "verify_email",
        created_at: yield* now,
        expires_at: yield* fromNow(verificationMs)
      }
      yield* attempt.commit(db.run(db.sql`insert into one_time_tokens ${db.sql.insert(row)}`))
      return token
    })
    const compose = Effect.fnUntraced(function* (attempt: RunningAttempt, template: MailTemplate, account: AccountRow) {
      switch (template) {
        case "verify_email":
          return verifyEmail(options, account, yield* issueToken(attempt, account))
        case "already_registered":
          return alreadyRegistered(options, account)
      }
    })

    return {
      kind,
      concurrency: 4,
      deadlineMs: 2 * 60 * 1000,
      run: Effect.fn("MailJob.run")(function* (attempt) {
        const payload = yield* Effect.orDie(Schema.decodeUnknown(Payload)(attempt.claim.payload))
        const account = yield* findById(db, payload.account_id)
        if (account === undefined || !isWanted(payload.template, account)) return done
        const mail = yield* compose(attempt, payload.template, account)
        yield* mailer.send(mail).pipe(
          Effect.mapError(
            (refused) =>
              new JobError({
                code: "mail_refused",
                message: `The mail could not be handed over (${refused.code}). Check the mail server settings.`,
                retryable: refused.retryable
              })
          )
        )
        return done
      }),
      failed: (claim, failure) =>
        Effect.logError("a mail was given up", { job_id: claim.jobId, code: failure.code, message: failure.message }),
      lost: () => Effect.succeed({ next: "retry", command: Effect.void })
    }
  })

const done: Completion = { state: "succeeded", command: Effect.void }

/** Whether the account is still in the state that the mail speaks of. */
const isWanted = (template: MailTemplate, account: AccountRow): boolean =>
  account.state === (template === "verify_email" ? "unverified" : "active")
