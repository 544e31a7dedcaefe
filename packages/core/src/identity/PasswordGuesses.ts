import { Effect } from "effect"
import type { ErrorCode, ReinsError } from "../domain/ReinsError.js"
import type { Vault } from "../secrets/Vault.js"
import type { Commit } from "../store/Commit.js"
import type { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Throttle from "./Throttle.js"

/** An attempt to prove the password of an account. */
export interface Guess {
  /** The address of the account, as `normaliseEmail` makes it. */
  readonly email: string
  /** The address of the machine that the attempt comes from. */
  readonly clientAddress: string
}

/** Bounds how often passwords can be guessed: 10 failures of an account and 50 of a client within 15 minutes. */
export interface PasswordGuesses {
  /**
   * Gives back what the check of a password finds. A check that finds nothing counts as a failure and fails with `wrong`. After too many
   * failures everything fails with `rate_limited`, also what the check finds. The failure is a commit of its own, because the
   * request that it belongs to writes nothing.
   */
  readonly attempt: <A, E, Wrong extends ErrorCode>(
    guess: Guess,
    check: Effect.Effect<A | undefined, E>,
    wrong: ReinsError<Wrong>
  ) => Effect.Effect<A, E | ReinsError<Wrong> | ReinsError<"rate_limited">>
  /** Forgets the failures of an account whose owner has proved the password. */
  readonly forget: (email: string) => Effect.Effect<void, never, Commit>
  /** Deletes the failures that no longer count. The statement is a commit of its own. */
  readonly purge: Effect.Effect<void>
}

/** Makes the bound. All that are made on one database count together. */
export const make: Effect.Effect<PasswordGuesses, never, Database | Vault | Journal> = Effect.gen(function* () {
  const journal = yield* Journal
  const throttle = yield* Throttle.make

  /** Fails at the limit. `own` failures that the caller has just counted do not bring it to the limit. */
  const refuseThrottled = Effect.fnUntraced(function* ({ clientAddress, email }: Guess, own: number) {
    const waitOf = (limit: Throttle.Limit, subject: string) =>
      Effect.map(throttle.retryAfterSeconds({ ...limit, max: limit.max + own }, subject), (seconds) => ({
        limit,
        seconds: seconds ?? 0
      }))
    const account = yield* waitOf(accountLimit, email)
    const client = yield* waitOf(clientLimit, clientAddress)
    const longer = account.seconds >= client.seconds ? account : client
    if (longer.seconds > 0) return yield* tooMany(longer.limit, longer.seconds)
  })

  return {
    attempt: Effect.fnUntraced(function* (guess, check, wrong) {
      yield* refuseThrottled(guess, 0)
      const found = yield* check
      // The limit is checked again after the failure was counted. Guesses made at the same time would all pass it otherwise.
      if (found === undefined) {
        yield* journal.commit(
          Effect.zipRight(throttle.hit(accountLimit, guess.email), throttle.hit(clientLimit, guess.clientAddress))
        )
        yield* refuseThrottled(guess, 1)
        return yield* Effect.fail(wrong)
      }
      yield* refuseThrottled(guess, 0)
      return found
    }),
    forget: (email) => throttle.clear(accountLimit, email),
    purge: throttle.purge
  }
})

const windowMs = 15 * 60 * 1000
const accountLimit: Throttle.Limit = { kind: "login account", max: 10, windowMs }
const clientLimit: Throttle.Limit = { kind: "login client", max: 50, windowMs }

const tooMany = (limit: Throttle.Limit, seconds: number) =>
  Throttle.rateLimited(
    "login",
    limit,
    seconds,
    `Too many attempts with a password failed. Wait ${seconds} seconds before the next one.`
  )
