import { assert, describe, it } from "@effect/vitest"
import { Connections } from "@reins/core/connections/Connections"
import { afterFailureMs, nextLookMs } from "@reins/core/requests/looks/Cadence"
import { partReads } from "@reins/core/requests/rows/PartRows"
import { forgeConnection } from "@reins/testing/changes/Fixture"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import type { Canned } from "@reins/testing/forge/ForgeServer"
import { services } from "@reins/testing/sessions/Services"
import { forgeDatabases } from "@reins/testing/store/Databases"
import { forgesOn } from "@reins/testing/Volume"
import { Effect, Exit } from "effect"
import { head, openRequest, watchingProcess } from "./OpenRequest.js"

const near = (actual: number, wanted: number) => assert.approximately(actual, wanted, 20_000)

for (const { layer, name } of forgeDatabases) {
  const run = Effect.provide(services(layer, { allowPrivateHosts: ["127.0.0.1"] }))

  describe(`looks that fail, on ${name}`, () => {
    it.scopedLive("rows stay as they were read, nothing of them counts as a success, and the next one mends it", () =>
      Effect.gen(function* () {
        const { connection, forge, id, look, principal, read, waitMs, watch } = yield* openRequest("github")
        const { seenChecksOf } = yield* partReads
        forge.check({ head, name: "build", state: "passed" })
        const good = yield* look
        assert.strictEqual(good.standing?.checks.state, "passing")
        const rows = yield* seenChecksOf(id, head)
        let observed = good.observed_at
        const away = { location: "http://127.0.0.1:1/api/v3/repos/acme/shop/pulls/1" }
        const lasting: ReadonlyArray<readonly [Canned, string]> = [
          [{ status: 401, body: '{"message":"Bad credentials"}' }, "does not accept the token"],
          [{ status: 403, body: "{}" }, "does not let the token"],
          [{ status: 404, body: "{}" }, "HTTP 404"],
          [{ status: 301, headers: away }, "redirects to 127.0.0.1:1"]
        ]
        for (const [canned, words] of lasting) {
          forge.canned.push(canned)
          const bad = yield* look
          assert.strictEqual(bad.observed_at, observed)
          assert.strictEqual(bad.standing?.checks.state, "unreadable", words)
          assert.deepInclude(bad.standing?.waiting_for[0] ?? {}, { kind: "forge_unreadable" })
          assert.include(bad.standing?.waiting_for[0]?.message ?? "", words)
          assert.deepStrictEqual(yield* seenChecksOf(id, head), rows)
          assert.strictEqual((yield* watch).failures, 1)
          near(yield* waitMs, 30 * 60_000)
          if (canned.status === 401)
            assert.strictEqual((yield* (yield* Connections).get(principal, connection.id)).health, "reauth_required")
          const mended = yield* look
          assert.strictEqual(mended.standing?.checks.state, "passing")
          assert.deepStrictEqual(mended.standing?.waiting_for, [])
          assert.strictEqual((yield* watch).failures, 0)
          observed = mended.observed_at
        }
        const passing: ReadonlyArray<Canned> = [
          { status: 500 },
          { status: 503, body: "<html>" },
          { status: 200, body: "<html>" },
          { status: 200, body: '{"some":"thing"}' }
        ]
        const before = yield* read
        for (const [index, canned] of passing.entries()) {
          forge.canned.push(canned)
          assert.deepStrictEqual(yield* look, { ...before, next_look_at: (yield* read).next_look_at })
          assert.strictEqual((yield* watch).failures, index + 1)
          near(yield* waitMs, 30_000 * 2 ** index)
        }
        forge.check({ head, name: "build", state: "failed" })
        assert.strictEqual((yield* look).standing?.checks.state, "failing")
      }).pipe(run)
    )

    it.scopedLive(
      "a pause that the forge wants holds for its connection, also against rings; a low budget lets rings through",
      () =>
        Effect.gen(function* () {
          const { another, base, connection, db, forge, id, journal, look, nowMs, one, waitMs, watch } =
            yield* openRequest("github")
          const beside = yield* another(connection.id)
          const elsewhere = yield* another((yield* forgeConnection("github", base)).id)
          yield* db.run(db.sql`update watches set look_at = '2026-01-01T00:00:00.000Z' where merge_request_id <> ${id}`)
          for (const { merge_request_id } of yield* one.claim(5)) yield* one.release(merge_request_id)
          yield* db.run(
            db.sql`update watches set look_at = ${yield* db.clock.at(60_000)} where merge_request_id <> ${id}`
          )
          forge.canned.push({ status: 429, headers: { "retry-after": "600" }, body: "slow down" })
          yield* look
          near(yield* waitMs, 600_000)
          assert.strictEqual((yield* watch).failures, 1)
          const lookAt = (of: string) =>
            Effect.map(
              db.first(db.sql<{ look_at: string }>`select look_at from watches where merge_request_id = ${of}`),
              (row) => Date.parse(row?.look_at ?? "")
            )
          const soon = (of: string) => Effect.map(Effect.all([lookAt(of), nowMs]), ([at, now]) => at - now)
          near(yield* soon(beside), 600_000)
          near(yield* soon(elsewhere), 60_000)
          yield* journal.commit(one.ring(beside, true))
          near(yield* soon(beside), 600_000)

          yield* db.run(db.sql`update watches set paused_until = null`)
          forge.odd.limit = { limit: 5_000, remaining: 12 }
          yield* look
          near(yield* waitMs, 600_000)
          near(yield* soon(beside), 600_000)
          yield* journal.commit(one.ring(beside, true))
          near(yield* soon(beside), 0)
        }).pipe(run)
    )

    it.scopedLive("a merge request that the forge closes, as when its branch goes, ends its looks", () =>
      Effect.gen(function* () {
        const { db, forge, id, look, read } = yield* openRequest("gitea")
        yield* look
        const [pull] = forge.pulls
        if (pull !== undefined) pull.state = "closed"
        yield* look
        assert.deepInclude(yield* read, { state: "closed", next_look_at: null })
        assert.isUndefined(yield* db.first(db.sql`select 1 from watches where merge_request_id = ${id}`))
      }).pipe(run)
    )
  })

  describe(`looks of two nodes, on ${name}`, () => {
    it.scopedLive("one of them takes a watch, each time", () =>
      Effect.gen(function* () {
        const { db, forge, id, one } = yield* openRequest("gitea")
        const two = yield* watchingProcess("boot_two")
        for (let round = 0; round < 20; round++) {
          yield* db.run(db.sql`update watches set look_at = '2026-01-01T00:00:00.000Z' where merge_request_id = ${id}`)
          forge.seen.length = 0
          const work = (each: typeof one) =>
            Effect.flatMap(each.claim(4), (held) => Effect.as(Effect.forEach(held, each.look), held.length))
          const taken = yield* Effect.all([work(one), work(two)], { concurrency: 2 })
          assert.deepStrictEqual([...taken].sort(), [0, 1])
          assert.strictEqual(forge.seen.filter(({ path }) => /\/pulls\/1$/.test(path)).length, 1)
        }
      }).pipe(run)
    )

    it.scopedLive("the hold of one that stands still is taken, and then it writes nothing", () =>
      Effect.gen(function* () {
        const { db, forge, id, one, read } = yield* openRequest("gitea")
        const two = yield* watchingProcess("boot_two")
        const [stuck] = yield* one.claim(1)
        if (stuck === undefined) return assert.fail("nothing was due")
        assert.deepStrictEqual(yield* two.claim(1), [])
        forge.check({ head, name: "build", state: "failed" })
        // The time of the hold passes.
        yield* db.run(db.sql`update watches set held_until = '2026-01-01T00:00:00.000Z' where merge_request_id = ${id}`)
        const [taken] = yield* two.claim(1)
        if (taken === undefined) return assert.fail("the hold was not taken")
        yield* two.look(taken)
        const written = yield* read
        assert.strictEqual(written.standing?.checks.state, "failing")
        for (const check of forge.checks) check.state = "passed"
        const exit = yield* Effect.exit(one.look(stuck))
        assert.isTrue(Exit.isFailure(exit) && String(exit.cause).includes("WatchLost"))
        assert.deepStrictEqual(yield* read, written)
      }).pipe(run)
    )

    it.scopedLive("a ring during a look makes the next one due at once", () =>
      Effect.gen(function* () {
        const { journal, one, id, waitMs } = yield* openRequest("gitea")
        const [held] = yield* one.claim(1)
        if (held === undefined) return assert.fail("nothing was due")
        yield* journal.commit(one.ring(id, true))
        yield* one.look(held)
        assert.isAtMost(yield* waitMs, 0)
        for (const again of yield* one.claim(1)) yield* one.look(again)
        assert.isAbove(yield* waitMs, 60_000)
      }).pipe(run)
    )
  })

  describe(`the price of looks, on ${name}`, () => {
    const calls: Readonly<Record<KnownForge, number>> = { github: 7, gitlab: 6, gitea: 4 }
    for (const kind of forgesOn(name))
      it.scopedLive(
        `a look at a quiet request of ${kind} is ${calls[kind]} calls, and writes nothing that is told`,
        () =>
          Effect.gen(function* () {
            const { forge, look, session, db } = yield* openRequest(kind)
            forge.check({ head, name: "build", state: "passed" })
            const first = yield* look
            const events = () =>
              Effect.map(db.all(db.sql`select seq from events where session_id = ${session.id}`), (rows) => rows.length)
            const told = yield* events()
            for (let round = 0; round < 3; round++) {
              forge.statuses.length = 0
              const { version } = yield* look
              assert.strictEqual(version, first.version)
              assert.isAtMost(forge.statuses.length, calls[kind])
              // A forge without ETags answers whole, and a digest says that it is as it was.
              assert.isTrue(
                forge.statuses.every((status) => status === (kind === "gitea" ? 200 : 304)),
                forge.statuses.join()
              )
            }
            assert.strictEqual(yield* events(), told)
          }).pipe(run)
      )
  })
}

describe("the times of looks", () => {
  const minuteMs = 60_000
  /** The looks in a time of quiet, from a number of milliseconds after the last move on. */
  const looks = (
    fromMs: number,
    lengthMs: number,
    given: { readonly isPending: boolean; readonly heardAgoMs: number }
  ) => {
    let count = 0
    for (let at = fromMs; at < fromMs + lengthMs; count++)
      at += nextLookMs({ isPending: given.isPending, movedAgoMs: at, heardAgoMs: given.heardAgoMs + at })
    return count
  }

  it("a quiet day is 288 looks, 96 with hooks and 48 after a week, so 1,728, 576 and 288 calls of GitHub", () => {
    const day = 24 * 60 * minuteMs
    const never = { isPending: false, heardAgoMs: Number.POSITIVE_INFINITY }
    assert.strictEqual(looks(0, day, never), 288)
    assert.strictEqual(looks(0, day, { isPending: false, heardAgoMs: 0 }), 96)
    assert.strictEqual(looks(8 * day, day, never), 48)
    assert.strictEqual(looks(0, 10 * minuteMs, { ...never, isPending: true }), 20)
    assert.strictEqual(looks(10 * minuteMs, 60 * minuteMs, { ...never, isPending: true }), 60)
  })

  it("failures wait twice as long each time, half an hour at most", () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 50].map(afterFailureMs)
    assert.deepStrictEqual(
      waits,
      [0.5, 1, 2, 4, 8, 16, 30, 30].map((minutes) => minutes * minuteMs)
    )
  })
})
