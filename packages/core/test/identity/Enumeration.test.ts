import { assert, layer } from "@effect/vitest"
import { AccountStore } from "@reins/core/identity/AccountStore"
import { Accounts } from "@reins/core/identity/Accounts"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import { PasswordChanges } from "@reins/core/identity/PasswordChanges"
import { Passwords } from "@reins/core/identity/Passwords"
import { goodPassword, identity, newAccount, newClient, newEmail } from "@reins/testing/identity/Identity"
import { databases } from "@reins/testing/store/Databases"
import { Effect, Layer, Redacted } from "effect"

/** Dear enough for the hash to outweigh all else of a login, cheap enough to be made some hundred times. */
const dear = Layer.effect(Passwords, Passwords.make({ memoryKiB: 4 * 1024, passes: 2, concurrency: 1, maxWaiting: 1 }))

/**
 * The processor time that an attempt takes, in microseconds. It is the time of the answer on an idle machine, because all that an attempt
 * does is computed in this process. Other processes do not change it. A wait on a clock would not be seen, so the tests run on
 * a clock that stands still, where such a wait never ends.
 */
const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const start = process.cpuUsage()
    yield* Effect.either(effect)
    const { system, user } = process.cpuUsage(start)
    return user + system
  })

const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length / 2
  return ((sorted[Math.floor(middle - 0.5)] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2
}

interface Pair<E, R> {
  readonly known: Effect.Effect<unknown, E, R>
  readonly unknown: Effect.Effect<unknown, E, R>
}

/** An attempt on the address of a new account, and one on an address that nobody has. */
const pairOf = <E, R>(attempt: (email: string) => Effect.Effect<unknown, E, R>) =>
  Effect.map(newAccount, ({ email }): Pair<E, R> => ({ known: attempt(email), unknown: attempt(newEmail()) }))

/** The time that the known one of a pair takes longer, and the time of both together. */
const measure = Effect.fnUntraced(function* <E, R>({ known, unknown }: Pair<E, R>, knownFirst: boolean) {
  const first = yield* timed(knownFirst ? known : unknown)
  const second = yield* timed(knownFirst ? unknown : known)
  return { difference: knownFirst ? first - second : second - first, both: first + second }
})

/**
 * True when attempts on known and on unknown addresses take equally long, to a tenth. A sample is two pairs in opposite order, because the
 * second attempt of a pair has an advantage. Sampling ends when the median of the differences lies within a tenth of an attempt, or beyond
 * it, with 99 % confidence.
 */
const takeEquallyLong = Effect.fnUntraced(function* <E, R, E2, R2>(nextPair: Effect.Effect<Pair<E, R>, E2, R2>) {
  const differences: Array<number> = []
  const durations: Array<number> = []
  for (let sample = -4; sample < 400; sample++) {
    const forth = yield* measure(yield* nextPair, true)
    const back = yield* measure(yield* nextPair, false)
    // The first samples warm up.
    if (sample < 0) continue
    differences.push((forth.difference + back.difference) / 2)
    durations.push((forth.both + back.both) / 4)
    if (sample < 24) continue
    const [low, high] = medianRange(differences)
    const tenth = median(durations) / 10
    if (low > -tenth && high < tenth) return true
    if (low > tenth || high < -tenth) return false
  }
  return false
})

/** The range that holds the true median of a sample with 99 % confidence. */
const medianRange = (values: ReadonlyArray<number>): readonly [number, number] => {
  const sorted = values.toSorted((one, other) => one - other)
  const margin = (2.58 * Math.sqrt(sorted.length)) / 2
  const at = (index: number) => sorted[Math.min(sorted.length - 1, Math.max(0, index))] ?? 0
  return [at(Math.floor(sorted.length / 2 - margin)), at(Math.ceil(sorted.length / 2 + margin))]
}

const [sqlite] = databases
if (sqlite !== undefined) {
  layer(identity(sqlite.layer, dear))("The time of an answer", (it) => {
    it.effect("to a login tells nothing about whether the address has an account", () =>
      Effect.gen(function* () {
        const logins = yield* LoginSessions
        const attempt = (email: string) => logins.login({ email, password: "not the one" }, newClient())
        assert.isTrue(yield* takeEquallyLong(pairOf(attempt)))
      })
    )

    it.effect("to a registration tells nothing about whether the address has an account", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const attempt = (email: string) => accounts.register({ email, password: goodPassword }, newClient())
        assert.isTrue(yield* takeEquallyLong(pairOf(attempt)))
      })
    )

    it.effect("to a request for a reset tells nothing about whether the address has an account", () =>
      Effect.gen(function* () {
        const changes = yield* PasswordChanges
        assert.isTrue(yield* takeEquallyLong(pairOf((email) => changes.reset({ email }, newClient()))))
      })
    )

    it.effect("is seen to tell it where an unknown address costs no hash", () =>
      Effect.gen(function* () {
        const accounts = yield* AccountStore
        const passwords = yield* Passwords
        const careless = Effect.fnUntraced(function* (email: string) {
          const account = yield* accounts.findByEmail(email)
          if (account !== undefined) yield* passwords.verify(account.password_hash, Redacted.make("not the one"))
        })
        assert.isFalse(yield* takeEquallyLong(pairOf(careless)))
      })
    )
  })
}
