import { assert, describe, layer as layerOf } from "@effect/vitest"
import { Boot } from "@reins/base/base/Boot"
import type { SessionId } from "@reins/base/domain/Ids"
import { WorkspaceId } from "@reins/base/domain/Ids"
import * as Follower from "@reins/core/events/Follower"
import { FollowerStore } from "@reins/core/events/FollowerStore"
import { Bell } from "@reins/core/store/Bell"
import type { Commit } from "@reins/core/store/Commit"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { aMoment } from "@reins/testing/process/Waiting"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Deferred, Effect, Exit, Layer, Logger, Runtime, TestClock, TestContext } from "effect"
import * as fc from "fast-check"
import { appendUsage, events, newSession } from "./Sessions.js"

const name = "notes"

/** A process of the installation, which is one of several unless it works alone. */
const bootOf = (bootId: string) =>
  Layer.succeed(
    Boot,
    Boot.of({ nodeId: "test", bootId, alone: false, ended: Effect.succeed([]), forget: () => Effect.void })
  )

const storeOf = (bootId: string) => Layer.fresh(FollowerStore.layer).pipe(Layer.provide(bootOf(bootId)))

const numbersTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1)

/** The follower's rows: it writes down the position of each event that it takes, as often as it takes it. */
const notes = Effect.gen(function* () {
  const db = yield* Database
  const journal = yield* Journal
  yield* db.run(db.sql`create table if not exists notes (key text not null, position integer not null)`)
  const { sessionId, workspaceId } = yield* newSession
  const key = sessionId
  const positions = (yield* FollowerStore)(name)
  yield* journal.commit(positions.begin(key, 0))
  const note = (at: ReadonlyArray<number>): Effect.Effect<void, never, Commit> =>
    Effect.forEach(at, (position) => db.run(db.sql`insert into notes ${db.sql.insert({ key, position })}`), {
      discard: true
    })
  const read = Effect.map(
    db.all(db.sql<{ position: number }>`select position from notes where key = ${key} order by position`),
    (rows) => rows.map(({ position }) => position)
  )
  /** Waits, whatever clock the test has, until so many events were taken. */
  const until = (count: number) =>
    Effect.repeat(Effect.zipRight(aMoment, read), { until: (all) => all.length >= count })
  const follower: Follower.Follower = {
    name,
    list: Effect.succeed([{ key, workspaceId: WorkspaceId.make(workspaceId) }]),
    begin: () => Effect.succeed({ filter: {}, take: (taken) => note(taken.map(({ seq }) => seq)) })
  }
  return { append: appendOf(sessionId), follower, journal, key, note, positions, read, until }
})

const appendOf = (sessionId: SessionId) => (count: number) => appendUsage(sessionId, numbersTo(count))

/** Lets others follow as if the process that holds the keys had stood still for long. */
const expireHolds = Effect.flatMap(Database, ({ run, sql }) =>
  run(sql`update followers set held_until = '1960-01-01T00:00:00.000Z' where holder is not null`)
)

/** Runs a follower in a process until the scope closes. */
const follow = (follower: Follower.Follower, bootId = "boot_one") =>
  Layer.build(Layer.fresh(Follower.layerOf([Effect.succeed(follower)])).pipe(Layer.provide(storeOf(bootId))))

/** The acts of two processes on one row, in any order. */
const act = fc.record({
  boot: fc.constantFrom("boot_one", "boot_two"),
  kind: fc.constantFrom("hold", "hold", "take", "take", "take", "release", "expire"),
  count: fc.integer({ min: 1, max: 3 })
})
type Act = typeof act extends fc.Arbitrary<infer A> ? A : never

for (const { layer, name: database } of flowDatabases) {
  describe(`Followers on ${database}`, () => {
    layerOf(events(layer), { excludeTestServices: true })((it) => {
      it.scoped("whatever two processes do in whatever order, each position is taken once and by the holder", () =>
        Effect.gen(function* () {
          const play = (acts: ReadonlyArray<Act>) =>
            Effect.gen(function* () {
              const { journal, key, note, positions: own, read } = yield* notes
              const stores = new Map<string, ReturnType<FollowerStore["Type"]>>()
              for (const bootId of ["boot_one", "boot_two"])
                stores.set(
                  bootId,
                  yield* Effect.map(FollowerStore, (of) => of(name)).pipe(Effect.provide(storeOf(bootId)))
                )
              const known = new Map<string, number>()
              let holder: string | undefined
              let expired = false
              let position = 0
              for (const { boot, count, kind } of acts) {
                const store = stores.get(boot) ?? own
                if (kind === "expire") {
                  yield* expireHolds
                  expired = true
                } else if (kind === "release") {
                  yield* store.release(key)
                  if (holder === boot) holder = undefined
                } else if (kind === "hold") {
                  const found = yield* store.hold(key)
                  const isFree = holder === undefined || holder === boot || expired
                  assert.strictEqual(found, isFree ? position : undefined)
                  if (!isFree) continue
                  holder = boot
                  expired = false
                  known.set(boot, position)
                } else {
                  const from = known.get(boot) ?? 0
                  const to = from + count
                  const taken = numbersTo(count).map((each) => from + each)
                  const exit = yield* Effect.exit(store.commit(key, note(taken), { from, to }))
                  assert.strictEqual(Exit.isSuccess(exit), holder === boot && from === position)
                  if (!Exit.isSuccess(exit)) continue
                  position = to
                  expired = false
                  known.set(boot, to)
                }
              }
              assert.deepStrictEqual(yield* read, numbersTo(position))
              assert.strictEqual(yield* own.find(key), position)
              yield* journal.commit(own.end(key))
              for (const store of [own, ...stores.values()]) {
                assert.isUndefined(yield* store.hold(key))
                assert.isTrue(Exit.isFailure(yield* Effect.exit(store.commit(key, Effect.void))))
              }
            })
          const runtime = yield* Effect.runtime<Effect.Effect.Context<ReturnType<typeof play>>>()
          yield* Effect.promise(() =>
            fc.assert(
              fc.asyncProperty(fc.array(act, { maxLength: 30 }), (acts) => Runtime.runPromise(runtime)(play(acts))),
              { numRuns: 25 }
            )
          )
        })
      )

      it.scoped("what is on its way in a process that has lost its hold is written by the other one alone", () =>
        Effect.gen(function* () {
          const { append, follower, read, until } = yield* notes
          const begun = yield* Deferred.make<void>()
          const goOn = yield* Deferred.make<void>()
          const late = yield* Deferred.make<Exit.Exit<void, unknown>>()
          // It has read the log, stands still before it writes, and then writes in spite of the end of its round.
          const slow: Follower.Follower = {
            ...follower,
            begin: () =>
              Effect.succeed({
                filter: { types: [] },
                take: () => Effect.void,
                work: (commit) =>
                  Deferred.succeed(begun, undefined).pipe(
                    Effect.zipRight(Deferred.await(goOn)),
                    Effect.zipRight(Effect.exit(commit(Effect.die("this must not be reached")))),
                    Effect.flatMap((exit) => Deferred.succeed(late, exit)),
                    Effect.as(undefined),
                    Effect.uninterruptible
                  )
              })
          }
          yield* follow(slow, "boot_slow")
          yield* Deferred.await(begun)
          yield* expireHolds
          yield* follow(follower, "boot_quick")
          yield* append(3)
          yield* until(3)
          yield* Deferred.succeed(goOn, undefined)
          const exit = yield* Deferred.await(late)
          assert.deepInclude(Exit.match(exit, { onFailure: (cause) => cause, onSuccess: () => ({}) }), { _tag: "Fail" })
          assert.deepStrictEqual(yield* read, [1, 2, 3])
        })
      )

      it.scoped("a follower that is killed at any point goes on where it was, and takes each event once", () =>
        Effect.gen(function* () {
          const { append, follower, read } = yield* notes
          const total = 240
          yield* Effect.fork(Effect.forEach(numbersTo(total / 4), () => append(4), { discard: true }))
          let lives = 0
          // Some lives end by themselves, in a commit that is rolled back.
          const begin: Follower.Follower["begin"] = (key) =>
            Effect.map(follower.begin(key), (round) => ({
              filter: {},
              take: (taken) =>
                Effect.zipRight(round?.take(taken) ?? Effect.void, lives % 3 === 2 ? Effect.die("cut") : Effect.void)
            }))
          yield* Effect.repeat(
            Effect.gen(function* () {
              lives++
              const before = (yield* read).length
              const isOver = Effect.map(read, ({ length }) => length > before || length === total)
              yield* Effect.scoped(
                Effect.zipRight(
                  follow({ ...follower, begin }, `boot_${lives}`),
                  lives % 3 === 2 ? aMoment : Effect.repeat(Effect.zipRight(aMoment, isOver), { until: (done) => done })
                )
              )
            }),
            { until: () => Effect.map(read, ({ length }) => length === total) }
          )
          assert.isAbove(lives, 1)
          assert.deepStrictEqual(yield* read, numbersTo(total))
        })
      )

      it.scoped("it catches up in several commits, takes what its filter picks, and passes the rest", () =>
        Effect.gen(function* () {
          const { append, follower, journal, key, positions, until } = yield* notes
          yield* append(620)
          yield* follow(follower)
          yield* until(620)
          assert.strictEqual(yield* positions.find(key), 620)
          const other = `${key}_turns`
          yield* journal.commit(positions.begin(other, 0))
          const [followed] = yield* follower.list
          if (followed === undefined) return assert.fail("nothing is followed")
          let taken = 0
          const turns: Follower.Follower = {
            name,
            list: Effect.succeed([{ ...followed, key: other }]),
            begin: () =>
              Effect.succeed({
                filter: { types: ["turn.*", "session.updated"] },
                take: ({ length }) =>
                  Effect.sync(() => {
                    taken += length
                  })
              })
          }
          yield* follow(turns, "boot_turns")
          yield* Effect.repeat(Effect.zipRight(aMoment, positions.find(other)), {
            until: (position) => position === 620
          })
          assert.strictEqual(taken, 0)
        })
      )
    })

    layerOf(events(layer), { excludeTestServices: true })((it) => {
      const onStillClock = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provide(effect, TestContext.TestContext)

      it.scoped("a ring wakes it at once, and the clock where the ring is lost", () =>
        onStillClock(
          Effect.gen(function* () {
            const { append, follower, read, until } = yield* notes
            const deaf = yield* Effect.map(Bell, (bell) => Bell.of({ ...bell, listen: () => () => {} }))
            let rounds = 0
            const counted: Follower.Follower = {
              ...follower,
              begin: (key) =>
                Effect.zipRight(
                  Effect.sync(() => rounds++),
                  follower.begin(key)
                )
            }
            yield* Effect.scoped(
              Effect.gen(function* () {
                yield* follow(counted)
                yield* Effect.repeat(aMoment, { until: () => rounds > 0 })
                yield* append(1)
                yield* until(1)
              })
            )
            yield* follow(counted, "boot_deaf").pipe(Effect.provideService(Bell, deaf))
            const before = rounds
            yield* Effect.repeat(aMoment, { until: () => rounds > before })
            yield* append(1)
            yield* Effect.repeat(Effect.zipRight(TestClock.adjust("1 second"), Effect.zipRight(aMoment, read)), {
              until: (all) => all.length === 2
            })
            assert.deepStrictEqual(yield* read, [1, 2])
          })
        )
      )

      it.scoped("a defect is told in one line, and the events are taken a second later", () =>
        onStillClock(
          Effect.gen(function* () {
            const { append, follower, read, until } = yield* notes
            const lines: Array<string> = []
            const logger = Logger.make(({ annotations, message }) => {
              lines.push(JSON.stringify([message, ...annotations]))
            })
            let broken = true
            const failing: Follower.Follower = {
              ...follower,
              begin: (key) => (broken ? Effect.dieMessage("a lost file") : follower.begin(key))
            }
            yield* append(2)
            yield* follow(failing).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
            yield* Effect.repeat(aMoment, { until: () => lines.length > 0 })
            broken = false
            yield* append(1)
            assert.deepStrictEqual(yield* read, [])
            yield* Effect.fork(Effect.forever(Effect.zipRight(TestClock.adjust("1 second"), aMoment)))
            assert.deepStrictEqual(yield* until(3), [1, 2, 3])
            assert.lengthOf(lines, 1)
            for (const word of ["cannot be followed by notes", "a lost file", "follower", "key"])
              assert.include(lines[0], word)
          })
        )
      )

      it.scoped("a key that comes is followed for at once, and one that goes no more", () =>
        onStillClock(
          Effect.gen(function* () {
            const { append, follower, journal, key, positions, read, until } = yield* notes
            let list: ReadonlyArray<Follower.Followed> = []
            yield* follow({ ...follower, list: Effect.sync(() => list) })
            yield* append(1)
            list = yield* follower.list
            yield* journal.commit(positions.wake(key))
            yield* until(1)
            list = []
            yield* journal.commit(Effect.zipRight(positions.end(key), positions.wake(key)))
            yield* append(1)
            assert.isUndefined(yield* positions.find(key))
            assert.deepStrictEqual(yield* read, [1])
          })
        )
      )
    })
  })
}
