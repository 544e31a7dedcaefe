import { Effect } from "effect"
import type { ReinsError } from "../domain/ReinsError.js"
import type { Vault } from "../secrets/Vault.js"
import type { Commit } from "../store/Commit.js"
import type { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as Throttle from "./Throttle.js"

/** Whose password is tried, and from where. */
export interface Guess {
  /** As `normaliseEmail` gives it. */
  readonly email: string
  readonly clientAddress: string
}

/** Bounds how often passwords can be guessed: 10 failures of an address and 50 of a client within 15 minutes. */
export interface PasswordGuesses {
  /**
   * Gives back what the check of a password finds. When it finds nothing that counts as a failure, and fails with `wrong`. Where
   * there were too many failures it fails with `rate_limited`, whatever the check finds.
   */
  readonly attempt: <A>(
    guess: Guess,
    check: Effect.Effect<A | undefined, ReinsError>,
    wrong: ReinsError
  ) => Effect.Effect<A, ReinsError>
  /** Forgets the failures of an address, whose owner has shown up. */
  readonly forget: (email: string) => Effect.Effect<void, never, Commit>
  /** Deletes the failures that no longer count. */
  readonly purge: Effect.Effect<void>
}

export const make: Effect.Effect<PasswordGuesses, never, Database | Vault | Journal> = Effect.gen(function* () {
  const journal = yield* Journal
  const throttle = yield* Throttle.make

  /** Fails when there were as many failures as are allowed, besides `own` that the caller has counted itself. */
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
      // The limit is looked at again, after a failure was counted: else guesses made at the same time would all pass it.
      if (found === undefined) {
        yield* journal.commit(
          Effect.zipRight(throttle.hit(accountLimit, guess.email), throttle.hit(clientLimit, guess.clientAddress))
        )
        yield* refuseThrottled(guess, 1)
        return yield* wrong
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

const tooMany = (limit: Throttle.Limit, seconds: number): ReinsError =>
  Throttle.rateLimited(
    "login",
    limit,
    seconds,
    `Too many attempts with a password failed. Wait ${seconds} seconds before the next one.`
  )
