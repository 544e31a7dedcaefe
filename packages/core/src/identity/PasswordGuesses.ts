import { clientNetwork } from "@reins/base/base/ClientNetwork"
import type { ErrorCode, ReinsError } from "@reins/base/domain/ReinsError"
import type { Vault } from "@reins/base/secrets/Vault"
import { Effect } from "effect"
import type { Commit } from "../store/Commit.js"
import type { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"
import * as KnownClients from "./KnownClients.js"
import * as Throttle from "./Throttle.js"

/** An attempt to prove the password of an account. */
export interface Guess {
  /** The address of the account, as `normaliseEmail` makes it. */
  readonly email: string
  /** The address of the machine that the attempt comes from. */
  readonly clientAddress: string
}

/** A proof that an account is the caller's. */
export interface Proof extends Guess {
  readonly accountId: string
}

/**
 * Bounds how often passwords can be guessed: 10 failures of a client on an account and 50 of a client within 15 minutes, and 40 failures of all
 * strangers together on an account within an hour. A client from which the account was logged in to before is no stranger, so that nobody
 * elsewhere can keep an owner out.
 */
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
  /** Forgets the failures of a client that has proved the password, and knows the client from now on. Those of strangers stay. */
  readonly proved: (proof: Proof) => Effect.Effect<void, never, Commit>
  /** Begins anew for a password that was replaced: `proved` for the client that replaced it, and no other one is known, nor any failure. */
  readonly replaced: (proof: Proof) => Effect.Effect<void, never, Commit>
  /** Deletes the failures and the clients that no longer count. Each statement is a commit of its own. */
  readonly purge: Effect.Effect<void>
}

/** Makes the bound. All that are made on one database count together. */
export const make: Effect.Effect<PasswordGuesses, never, Database | Vault | Journal> = Effect.gen(function* () {
  const journal = yield* Journal
  const throttle = yield* Throttle.make
  const known = yield* KnownClients.make

  /** The limits that a guess counts for, and what it counts as in each. */
  const countsOf = Effect.fnUntraced(function* ({ clientAddress, email }: Guess) {
    const client = clientNetwork(clientAddress)
    const own: ReadonlyArray<Count> = [
      { limit: pairLimit, subject: [email, client] },
      { limit: clientLimit, subject: client }
    ]
    return (yield* known.isKnown(email, client)) ? own : [...own, { limit: strangerLimit, subject: email }]
  })

  /** Fails at the limit. `own` failures that the caller has just counted do not bring it to the limit. */
  const refuseThrottled = Effect.fnUntraced(function* (counts: ReadonlyArray<Count>, own: number) {
    const waits = yield* Effect.forEach(counts, ({ limit, subject }) =>
      Effect.map(throttle.retryAfterSeconds({ ...limit, max: limit.max + own }, subject), (seconds = 0) => ({
        limit,
        seconds
      }))
    )
    const [longest] = waits.sort((left, right) => right.seconds - left.seconds)
    if (longest !== undefined && longest.seconds > 0) return yield* tooMany(longest.limit, longest.seconds)
  })

  const proved = ({ accountId, clientAddress, email }: Proof) => {
    const client = clientNetwork(clientAddress)
    return Effect.zipRight(throttle.clear(pairLimit, [email, client]), known.note(accountId, email, client))
  }

  return {
    attempt: Effect.fnUntraced(function* (guess, check, wrong) {
      const counts = yield* countsOf(guess)
      yield* refuseThrottled(counts, 0)
      const found = yield* check
      // The limit is checked again after the failure was counted. Guesses made at the same time would all pass it otherwise.
      if (found === undefined) {
        yield* journal.commit(
          Effect.forEach(counts, ({ limit, subject }) => throttle.hit(limit, subject), { discard: true })
        )
        yield* refuseThrottled(counts, 1)
        return yield* Effect.fail(wrong)
      }
      yield* refuseThrottled(counts, 0)
      return found
    }),
    proved,
    replaced: (proof) =>
      throttle
        .clear(strangerLimit, proof.email)
        .pipe(
          Effect.zipRight(throttle.clearGroup(pairLimit, proof.email)),
          Effect.zipRight(known.forget(proof.accountId)),
          Effect.zipRight(proved(proof))
        ),
    purge: Effect.zipRight(throttle.purge, known.purge)
  }
})

interface Count {
  readonly limit: Throttle.ThrottleLimit
  readonly subject: Throttle.ThrottleSubject
}

const windowMs = 15 * 60 * 1000
const pairLimit: Throttle.ThrottleLimit = { kind: "login pair", max: 10, windowMs }
const clientLimit: Throttle.ThrottleLimit = { kind: "login client", max: 50, windowMs }
const strangerLimit: Throttle.ThrottleLimit = { kind: "login stranger", max: 40, windowMs: 60 * 60 * 1000 }

const tooMany = (limit: Throttle.ThrottleLimit, seconds: number) =>
  Throttle.rateLimited(
    "login",
    limit,
    seconds,
    limit === strangerLimit
      ? `Too many attempts from places where this account was not used before failed. Wait ${seconds} seconds, log in from such a place, or set a new password by a link that is mailed to you.`
      : `Too many attempts with a password failed. Wait ${seconds} seconds before the next one.`
  )
