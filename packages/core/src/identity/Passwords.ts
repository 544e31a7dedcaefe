import { fn } from "@reins/base/base/Traced"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer, Redacted } from "effect"

/** The price of one hash, and the bounds on how many are made. */
export interface Cost {
  readonly memoryKiB: number
  /** Passes over the memory. */
  readonly passes: number
  /** Hashes that run at once. */
  readonly concurrency: number
  /** Hashes that wait for their turn. Beyond them every hash fails with `waiting_capacity`. */
  readonly maxWaiting: number
}

/** The server is busy with other passwords. */
export type PasswordsBusy = ReinsError<"waiting_capacity">

/** The cost that `Passwords.layer` takes. No configuration changes it; a program that makes the layer can. The default is for production. */
export class PasswordCost extends Context.Reference<PasswordCost>()("@reins/core/identity/PasswordCost", {
  defaultValue: (): Cost => ({ memoryKiB: 64 * 1024, passes: 3, concurrency: 2, maxWaiting: 64 })
}) {
  /** Makes hashes that are fast and protect nothing, for tests. */
  static readonly layerTest = Layer.succeed(PasswordCost, { memoryKiB: 64, passes: 1, concurrency: 2, maxWaiting: 64 })
}

/**
 * Hashes passwords with argon2id. A hash takes much memory and time on purpose, so few run at once and few wait. Beyond that every
 * method fails with `waiting_capacity`. The Unicode forms of a password are the same password.
 */
export class Passwords extends Context.Tag("@reins/core/identity/Passwords")<
  Passwords,
  {
    /** A new hash, which holds its salt and its cost. */
    readonly hash: (password: Redacted.Redacted) => Effect.Effect<string, PasswordsBusy>
    /**
     * A new hash for somebody who has proved nothing. One is made at a time and a quarter of the places are for those that wait, so that a
     * login waits for one of them at most.
     */
    readonly hashOfStranger: (password: Redacted.Redacted) => Effect.Effect<string, PasswordsBusy>
    /** True when the hash was made of this password, at whatever cost. */
    readonly verify: (hash: string, password: Redacted.Redacted) => Effect.Effect<boolean, PasswordsBusy>
    /** Takes as long as `verify`. It stands in for it where there is no account. */
    readonly dummyVerify: (password: Redacted.Redacted) => Effect.Effect<void, PasswordsBusy>
    /** True when the hash was made at another cost than new ones are. */
    readonly needsRehash: (hash: string) => boolean
  }
>() {
  /** Hashes at the given cost. */
  static readonly make = (cost: Cost): Effect.Effect<Passwords["Type"]> =>
    Effect.gen(function* () {
      const queued = yield* makeQueue(cost)
      const strangers = yield* makeQueue({ concurrency: 1, maxWaiting: Math.ceil(cost.maxWaiting / 4) })
      const options = { memoryCost: cost.memoryKiB, timeCost: cost.passes, parallelism: 1 }
      const ownCost = `$argon2id$v=19$m=${cost.memoryKiB},t=${cost.passes},p=1$`
      const hashed = (password: Redacted.Redacted) =>
        queued(unstoppable(async () => (await argon2()).hash(textOf(password), options)))
      return Passwords.of({
        hash: fn("Passwords.hash")(hashed),
        hashOfStranger: fn("Passwords.hashOfStranger")((password) => strangers(hashed(password))),
        verify: fn("Passwords.verify")((encoded, password) =>
          queued(unstoppable(async () => (await argon2()).verify(encoded, textOf(password))))
        ),
        dummyVerify: fn("Passwords.dummyVerify")((password) => Effect.asVoid(hashed(password))),
        needsRehash: (encoded) => !encoded.startsWith(ownCost)
      })
    })

  static readonly layer = Layer.effect(Passwords, Effect.flatMap(PasswordCost, Passwords.make))

  /** Makes hashes that are fast and protect nothing, for tests. */
  static readonly layerTest = Layer.provide(Passwords.layer, PasswordCost.layerTest)
}

/** Native code, which is loaded for the first password. */
const argon2 = () => import("@node-rs/argon2")

const textOf = (password: Redacted.Redacted): string => Redacted.value(password).normalize("NFC")

/** A hash that has begun cannot be stopped, so it keeps its place until it has ended. */
const unstoppable = <A>(work: () => Promise<A>): Effect.Effect<A> => Effect.uninterruptible(Effect.promise(work))

const makeQueue = (cost: Pick<Cost, "concurrency" | "maxWaiting">) =>
  Effect.map(Effect.makeSemaphore(cost.concurrency), (running) => {
    let present = 0
    const enter = Effect.suspend(() => {
      if (present >= cost.concurrency + cost.maxWaiting) return Effect.fail(busy)
      present++
      return Effect.void
    })
    const leave = Effect.sync(() => {
      present--
    })
    return <A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E | PasswordsBusy> =>
      Effect.acquireUseRelease(
        enter,
        () => running.withPermits(1)(work),
        () => leave
      )
  })

const busy = new ReinsError({
  code: "waiting_capacity",
  message: "Too many passwords are being checked at the moment. Try again in a few seconds.",
  retryAfterSeconds: 2
})
