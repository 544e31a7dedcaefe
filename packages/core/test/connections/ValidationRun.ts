import type { ValidationId } from "@reins/base/domain/Ids"
import { validationJob } from "@reins/core/connections/ValidationJob"
import type { Claim } from "@reins/core/jobs/Claim"
import { JobClaims } from "@reins/core/jobs/JobClaims"
import { Journal } from "@reins/core/store/Journal"
import { Effect } from "effect"

const worker = { workerId: "test/1", bootId: "boot_test" }

/** Claims the jobs of validations that are due, without working on them. */
export const claimValidations = Effect.gen(function* () {
  const { kind } = yield* validationJob
  return yield* (yield* JobClaims).claim(kind, 100, worker)
})

/** Works on one claimed validation to the end of its attempt, as a worker does. */
export const workOn = (claim: Claim) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const jobs = yield* JobClaims
    const kind = yield* validationJob
    const completion = yield* kind.run({ claim, cancelRequested: Effect.never, commit: journal.commit })
    yield* journal.commit(Effect.zipRight(jobs.finish(claim, { state: completion.state }), completion.command))
  })

/** Works on everything that is due. */
export const workAll = Effect.flatMap(claimValidations, Effect.forEach(workOn, { discard: true }))

/** The claim of one validation among those that are due. */
export const claimOf = (id: ValidationId) =>
  Effect.flatMap(claimValidations, (claims) => {
    const claim = claims.find(({ subject }) => subject.id === id)
    return claim === undefined ? Effect.dieMessage(`no job of ${id} is due`) : Effect.succeed(claim)
  })

/** Ends a claimed validation as a worker does whose attempts are used up. */
export const failForGood = (claim: Claim) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const jobs = yield* JobClaims
    const kind = yield* validationJob
    const error = { code: "internal_error", message: "It failed in a way that was not foreseen.", retryable: false }
    yield* journal.commit(
      Effect.zipRight(jobs.finish(claim, { state: "failed", error, attempt: "failed" }), kind.failed(claim, error))
    )
  })
