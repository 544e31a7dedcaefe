import { assert, it } from "@effect/vitest"
import { release } from "@reins/base/base/Release"
import { newId, SessionId } from "@reins/base/domain/Ids"
import * as ClusterPlacements from "@reins/core/placement/cluster/ClusterPlacements"
import { isHolder, make } from "@reins/core/placement/cluster/NodeLease"
import { Tenure } from "@reins/core/placement/cluster/Tenure"
import * as NodeRows from "@reins/core/placement/NodeRows"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { databases } from "@reins/testing/store/Databases"
import { walks } from "@reins/testing/Volume"
import { Effect, Layer, Runtime } from "effect"
import * as fc from "fast-check"

const times = { ttlMs: 15_000, renewMs: 5000, marginMs: 3000 }

/** One step of a process: which one, of which node, and about which session. */
const step = fc.record({
  act: fc.constantFrom(
    "take",
    "take",
    "renew",
    "renew",
    "renew",
    "release",
    "place",
    "forget",
    "pass",
    "pass",
    "stall"
  ),
  process: fc.constantFrom(0, 0, 1, 1, 2),
  node: fc.constantFrom(0, 0, 0, 1),
  session: fc.nat(1),
  ms: fc.constantFrom(1000, 4000, 11_000, 13_000, 16_000)
})
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

const of = (act: Step["act"], process = 0, more: Partial<Step> = {}): Step => ({
  act,
  process,
  node: 0,
  session: 0,
  ms: 16_000,
  ...more
})
/** A process whose clock stands still believes that it has its node, which the next start on its disk has taken. */
const stalledHolder = [of("take"), of("place"), of("stall"), of("pass"), of("take", 1)]
/** The session of a node that was forgotten is placed nowhere, and its last holder may not write. */
const forgottenNode = [of("take"), of("place"), of("stall"), of("pass"), of("forget"), of("take", 2), of("place", 2)]

const postgres = databases.filter(({ name }) => name === "PostgreSQL").map(({ layer }) => layer)

/** Processes on one database. The time of all clocks passes when a step lets it pass. */
const installation = Effect.fnUntraced(function* (walk: number) {
  const db = yield* Database
  const journal = yield* Journal
  const lease = make(db, times)
  const names = ["a", "b"].map((name) => `${name}${walk}`)
  const sessions = yield* Effect.all([newId(SessionId), newId(SessionId)])
  let clock = 0
  const processes = [0, 1, 2].map((index) => ({
    bootId: `boot_${walk}_${index}`,
    // The second process is another start on the disk of the first one.
    diskId: `disk_${walk}_${index >> 1}`,
    held: undefined as
      | { readonly tenure: Tenure; readonly placements: ReturnType<typeof ClusterPlacements.make> }
      | undefined,
    ends: 0,
    /** The time at which its clock stands still. Only the database keeps such a process from writing. */
    stalledAt: undefined as number | undefined
  }))
  const epochs = new Map<string, number>()
  /** The processes that may act for a node, as their own clocks say. */
  const acting = (name: string) =>
    processes.filter(
      ({ held, stalledAt }) =>
        stalledAt === undefined && held !== undefined && held.tenure.holder.name === name && held.tenure.holds()
    )

  const take = Effect.fnUntraced(function* (process: (typeof processes)[number], name: string) {
    if (process.held !== undefined) return
    const { bootId, diskId } = process
    const others = acting(name)
    const taken = yield* lease.take({ name, bootId, diskId, address: "http://127.0.0.1:1", role: "all", release }, [])
    if (!isHolder(taken)) return
    assert.deepStrictEqual(others, [], "a lease was given while another process acts for the node")
    assert.isAbove(taken.epoch, epochs.get(name) ?? 0)
    epochs.set(name, taken.epoch)
    const tenure = new Tenure(taken, times, () => process.stalledAt ?? clock)
    tenure.hold(taken, clock)
    tenure.onLost(Effect.sync(() => void process.ends++))
    process.held = {
      tenure,
      placements: ClusterPlacements.make(db, tenure, journal, { ...times, reclaimMs: 300_000 })
    }
  })

  const renew = Effect.fnUntraced(function* (process: (typeof processes)[number]) {
    if (process.held === undefined) return
    const { tenure } = process.held
    const startedAt = clock
    const acted = process.stalledAt === undefined && tenure.holds()
    const state = yield* lease.renew(tenure.holder, { providers: [], load: 0 })
    if (state !== undefined) return tenure.hold(tenure.holder, startedAt)
    assert.isFalse(acted, "a process that acts had lost its lease")
    const before = process.ends
    yield* Effect.all([tenure.end, tenure.end], { concurrency: 2 })
    assert.strictEqual(process.ends, before + 1)
    process.held = undefined
  })

  const check = Effect.gen(function* () {
    for (const sessionId of sessions) {
      const holders = yield* Effect.filter(processes, ({ held }) =>
        held === undefined ? Effect.succeed(false) : journal.commit(held.placements.holds(sessionId))
      )
      assert.isAtMost(holders.length, 1, "two processes may write for a session")
      for (const { held } of holders) {
        const at = yield* held === undefined ? Effect.dieMessage("nobody") : held.placements.at(sessionId)
        assert.strictEqual(at.kind, "here")
      }
    }
  })

  return Effect.fnUntraced(function* ({ act, ms, node, process: who, session }: Step) {
    const process = processes[who % processes.length]
    const name = names[node % names.length] ?? ""
    const sessionId = sessions[session % sessions.length]
    if (process === undefined || sessionId === undefined) return
    if (act === "take") yield* take(process, name)
    if (act === "renew") yield* renew(process)
    if (act === "release" && process.held !== undefined) {
      yield* process.held.tenure.end
      yield* lease.release(process.held.tenure.holder)
      process.held = undefined
    }
    if (act === "place" && process.held !== undefined)
      yield* journal.commit(process.held.placements.place(sessionId, name))
    if (act === "forget") {
      const others = acting(name)
      if ((yield* NodeRows.forget(db, name)) !== undefined) {
        assert.deepStrictEqual(others, [])
        epochs.delete(name)
      }
    }
    if (act === "stall") process.stalledAt = process.stalledAt === undefined ? clock : undefined
    if (act === "pass") {
      clock += ms
      yield* db.run(db.sql`update nodes set expires_at = expires_at - ${ms}`)
    }
    yield* check
  })
})

for (const database of postgres)
  it.scopedLive(
    "no order of takes, renewals and pauses gives a session two processes that may write for it",
    () =>
      Effect.gen(function* () {
        const db = yield* Database
        // The walks need no sessions, only their places.
        yield* db.run(db.sql`alter table placements drop constraint placements_session_id_fkey`)
        const run = Runtime.runPromise(yield* Effect.runtime<Database | Journal>())
        let walk = 0
        yield* Effect.promise(() =>
          fc.assert(
            fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80 }), (steps) =>
              run(
                Effect.gen(function* () {
                  const next = yield* installation(walk++)
                  yield* Effect.forEach(steps, next, { discard: true })
                })
              )
            ),
            { numRuns: walks.leases, examples: [[stalledHolder], [forgottenNode]] }
          )
        )
      }).pipe(Effect.provide(Layer.provideMerge(Journal.layer, database))),
    60_000
  )
