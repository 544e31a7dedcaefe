import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Deferred, Effect, Fiber, Option, TestClock, TestContext } from "effect"
import { afterEach, assert, beforeEach, it } from "vitest"
import { SessionId } from "../../../base/src/domain/Ids.js"
import { isLocked, lockFile } from "../../src/store/FileLock.js"
import { makeShared } from "../../src/worktrees/SessionLock.js"

const id = SessionId.make("sess_01k0000000000000000000000a")
const anotherId = SessionId.make("sess_01k0000000000000000000000b")
let place: string
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "reins-lock-"))
})
afterEach(() => {
  rmSync(place, { recursive: true, force: true })
})

const fileOf = (name: string) => join(place, name, "making.lock")

it("waits while another holds the session, goes on afterwards, and leaves other sessions alone", () =>
  Effect.gen(function* () {
    const [one, other] = [makeShared(fileOf), makeShared(fileOf)]
    const mayEnd = yield* Deferred.make<void>()
    const began = yield* Deferred.make<void>()
    const steps: Array<string> = []
    const push = (step: string) =>
      Effect.sync(() => {
        steps.push(step)
      })
    const first = yield* Effect.fork(
      one(
        id,
        Effect.gen(function* () {
          yield* Deferred.succeed(began, undefined)
          yield* Deferred.await(mayEnd)
          steps.push("first")
        })
      )
    )
    yield* Deferred.await(began)
    const second = yield* Effect.fork(other(id, push("second")))
    const waiting = yield* Effect.fork(other(id, push("given up")))
    yield* other(anotherId, push("another session"))
    yield* Fiber.interrupt(waiting)
    yield* Deferred.succeed(mayEnd, undefined)
    yield* Fiber.joinAll([first, second])
    assert.deepStrictEqual(steps, ["another session", "first", "second"])
    assert.isFalse(isLocked(fileOf(id)))
  }).pipe(Effect.runPromise))

it("is free again after a failure", () =>
  Effect.gen(function* () {
    const lock = makeShared(fileOf)
    assert.strictEqual(yield* Effect.flip(lock(id, Effect.fail("no"))), "no")
    assert.strictEqual(yield* lock(id, Effect.succeed(1)), 1)
  }).pipe(Effect.runPromise))

it("a holder that is silent is waited for as long as a claim lives, and one that is not, or is not known, for ever", () =>
  Effect.gen(function* () {
    let isSilent = false
    const known = (self: string) => ({
      self,
      leaseMs: 30_000,
      isSilent: (holder: string) => Effect.sync(() => isSilent && holder === "one")
    })
    const [one, other] = [makeShared(fileOf, known("one")), makeShared(fileOf, known("other"))]
    const began = yield* Deferred.make<void>()
    const holding = yield* Effect.fork(one(id, Effect.zipRight(Deferred.succeed(began, undefined), Effect.never)))
    yield* Deferred.await(began)
    const waiting = yield* Effect.fork(other(id, Effect.succeed("went on")))
    yield* TestClock.adjust("2 minutes")
    assert.isTrue(Option.isNone(yield* Fiber.poll(waiting)))
    isSilent = true
    yield* TestClock.adjust("1 second")
    assert.strictEqual(yield* Fiber.join(waiting), "went on")
    const next = yield* Effect.fork(other(id, Effect.succeed("went on")))
    yield* TestClock.adjust("29 seconds")
    assert.isTrue(Option.isNone(yield* Fiber.poll(next)))
    yield* TestClock.adjust("2 seconds")
    assert.strictEqual(yield* Fiber.join(next), "went on")
    yield* Fiber.interrupt(holding)

    const release = lockFile(fileOf(id))
    const last = yield* Effect.fork(other(id, Effect.succeed("went on")))
    yield* TestClock.adjust("2 minutes")
    assert.isTrue(Option.isNone(yield* Fiber.poll(last)))
    release()
    yield* TestClock.adjust("1 second")
    assert.strictEqual(yield* Fiber.join(last), "went on")
  }).pipe(Effect.provide(TestContext.TestContext), Effect.runPromise))
