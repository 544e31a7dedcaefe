import { assert, describe, it } from "@effect/vitest"
import { Passwords } from "@reins/core/identity/Passwords"
import { aMoment } from "@reins/testing/process/Waiting"
import { Effect, Either, Fiber, Redacted } from "effect"

const password = Redacted.make("a quiet heron at noon")

describe("Passwords", () => {
  it.effect("a hash is argon2id at the documented cost, salted, and verifies its password alone", () =>
    Effect.gen(function* () {
      const passwords = yield* Passwords
      const hash = yield* passwords.hash(password)
      assert.match(hash, /^\$argon2id\$v=19\$m=65536,t=3,p=1\$/)
      assert.isTrue(yield* passwords.verify(hash, password))
      assert.isFalse(yield* passwords.verify(hash, Redacted.make("a quiet heron at noon ")))
      assert.notStrictEqual(yield* passwords.hash(password), hash)
    }).pipe(Effect.provide(Passwords.layer))
  )

  it.effect("two Unicode forms of a password are the same password", () =>
    Effect.gen(function* () {
      const passwords = yield* Passwords
      const hash = yield* passwords.hash(Redacted.make("gro\u00dfe \u00dcbung"))
      assert.isTrue(yield* passwords.verify(hash, Redacted.make("gro\u00dfe U\u0308bung")))
    }).pipe(Effect.provide(Passwords.layerTest))
  )

  it.effect("a hash of another cost or kind needs to be renewed", () =>
    Effect.gen(function* () {
      const cost = { memoryKiB: 64, passes: 1, concurrency: 1, maxWaiting: 1 }
      const passwords = yield* Passwords.make(cost)
      const hash = yield* passwords.hash(password)
      assert.isFalse(passwords.needsRehash(hash))
      assert.isTrue((yield* Passwords.make({ ...cost, passes: 2 })).needsRehash(hash))
      assert.isTrue((yield* Passwords.make({ ...cost, memoryKiB: 128 })).needsRehash(hash))
      assert.isTrue(passwords.needsRehash(hash.replace("$argon2id$", "$argon2i$")))
    })
  )

  it.effect("when as many wait as may wait, the next is turned away, and later ones are served again", () =>
    Effect.gen(function* () {
      const passwords = yield* Passwords.make({ memoryKiB: 1024, passes: 1, concurrency: 2, maxWaiting: 3 })
      const hashed = yield* Effect.all(
        Array.from({ length: 9 }, () => Effect.either(passwords.hash(password))),
        { concurrency: "unbounded" }
      )
      const refused = hashed.filter(Either.isLeft).map(({ left }) => left.code)
      assert.deepStrictEqual(
        refused,
        Array.from({ length: 4 }, () => "waiting_capacity")
      )
      yield* passwords.dummyVerify(password)
    })
  )

  it.effect(
    "of those who have proved nothing one is served at a time, so that a login waits for one of them at most",
    () =>
      Effect.gen(function* () {
        const passwords = yield* Passwords.make({ memoryKiB: 1024, passes: 1, concurrency: 1, maxWaiting: 64 })
        const served: Array<string> = []
        let refused = 0
        const asked = (who: string, hash: typeof passwords.hash) =>
          Effect.match(hash(password), {
            onFailure: () => {
              refused += 1
            },
            onSuccess: () => {
              served.push(who)
            }
          })
        const strangers = yield* Effect.fork(
          Effect.all(
            Array.from({ length: 150 }, () => asked("stranger", passwords.hashOfStranger)),
            { concurrency: "unbounded" }
          )
        )
        yield* Effect.repeat(aMoment, { until: () => refused === 150 - (1 + 16) })
        for (const login of ["first login", "second login"]) yield* asked(login, passwords.hash)
        assert.isAtMost(served.indexOf("first login"), 1)
        assert.isAtMost(served.indexOf("second login"), 3)
        yield* Fiber.join(strangers)
        assert.strictEqual(served.length, 1 + 16 + 2)
      })
  )

  it.effect("one who stops waiting gives its place to another", () =>
    Effect.gen(function* () {
      const passwords = yield* Passwords.make({ memoryKiB: 1024, passes: 1, concurrency: 1, maxWaiting: 1 })
      const running = yield* Effect.fork(passwords.hash(password))
      const waiting = yield* Effect.fork(passwords.hash(password))
      yield* Effect.yieldNow()
      assert.strictEqual((yield* Effect.flip(passwords.hash(password))).code, "waiting_capacity")
      yield* Fiber.interrupt(waiting)
      yield* passwords.hash(password)
      yield* Fiber.join(running)
    })
  )
})
