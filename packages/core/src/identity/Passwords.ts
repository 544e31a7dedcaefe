import { hash, parseOptions, verify } from "@node-rs/argon2"
import { Context, Effect, Layer, Redacted } from "effect"
import { fn } from "../base/Traced.js"
import { ReinsError } from "../domain/ReinsError.js"

/** What a hash costs, and how many may be made at once. */
export interface Cost {
  readonly memoryKiB: number
  readonly passes: number
  readonly concurrency: number
  /** How many wait for their turn before others are turned away. */
  readonly maxWaiting: number
}

/** The cost that `Passwords.layer` takes: that of production, unless a program which makes the layer says otherwise. No configuration does. */
export class PasswordCost extends Context.Reference<PasswordCost>()("@reins/core/identity/PasswordCost", {
  defaultValue: (): Cost => ({ memoryKiB: 64 * 1024, passes: 3, concurrency: 2, maxWaiting: 64 })
}) {
  /** For tests: hashes that are fast and worth nothing. */
  static readonly layerTest = Layer.succeed(PasswordCost, { memoryKiB: 64, passes: 1, concurrency: 2, maxWaiting: 64 })
}

/**
 * Hashes passwords with argon2id. A hash takes much memory and time by intent, so few run at once and few wait for it; beyond that
 * every method fails with `waiting_capacity`. Unicode forms of one password are the same password.
 */
export class Passwords extends Context.Tag("@reins/core/identity/Passwords")<
  Passwords,
  {
    readonly hash: (password: Redacted.Redacted) => Effect.Effect<string, ReinsError>
    readonly verify: (hash: string, password: Redacted.Redacted) => Effect.Effect<boolean, ReinsError>
    /** Takes as long as `verify`, for an account that does not exist. */
    readonly dummyVerify: (password: Redacted.Redacted) => Effect.Effect<void, ReinsError>
    /** Whether the hash was made at another cost than new ones are. */
    readonly needsRehash: (hash: string) => boolean
  }
>() {
  static readonly make = (cost: Cost): Effect.Effect<Passwords["Type"]> =>
    Effect.gen(function* () {
      const queued = yield* makeQueue(cost)
      const options = { memoryCost: cost.memoryKiB, timeCost: cost.passes, parallelism: 1 }
      const hashed = (password: Redacted.Redacted) => queued(() => hash(textOf(password), options))
      return Passwords.of({
        hash: fn("Passwords.hash")(hashed),
        verify: fn("Passwords.verify")((encoded, password) => queued(() => verify(encoded, textOf(password)))),
        dummyVerify: fn("Passwords.dummyVerify")((password) => Effect.asVoid(hashed(password))),
        needsRehash: (encoded) => {
          const used = parseOptions(encoded)
          return !(
            encoded.startsWith("$argon2id$") &&
            used.memoryCost === options.memoryCost &&
            used.timeCost === options.timeCost &&
            used.parallelism === options.parallelism
          )
        }
      })
    })

  static readonly layer = Layer.effect(Passwords, Effect.flatMap(PasswordCost, Passwords.make))

  /** Hashes that are fast and worth nothing. */
  static readonly layerTest = Layer.provide(Passwords.layer, PasswordCost.layerTest)
}

const textOf = (password: Redacted.Redacted): string => Redacted.value(password).normalize("NFC")

const makeQueue = (cost: Cost) =>
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
    // A hash that has begun cannot be stopped, and holds its place until it has ended.
    return <A>(work: () => Promise<A>): Effect.Effect<A, ReinsError> =>
      Effect.acquireUseRelease(
        enter,
        () => running.withPermits(1)(Effect.uninterruptible(Effect.promise(work))),
        () => leave
      )
  })

const busy = new ReinsError({
  code: "waiting_capacity",
  message: "Too many passwords are being checked at the moment. Try again in a few seconds.",
  retryAfterSeconds: 2
})
