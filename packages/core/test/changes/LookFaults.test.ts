import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Boot } from "@reins/core/base/Boot"
import { afterFailureMs, nextLookMs } from "@reins/core/changes/looks/Cadence"
import { makeLook } from "@reins/core/changes/looks/Look"
import { partReads } from "@reins/core/changes/looks/PartRows"
import { WatchStore } from "@reins/core/changes/looks/WatchStore"
import { MergeRequestStore } from "@reins/core/changes/MergeRequestStore"
import { Connections } from "@reins/core/connections/Connections"
import { type ConnectionId, MergeRequestId, newId } from "@reins/core/domain/Ids"
import { type Timestamp, toMillis } from "@reins/core/domain/Timestamp"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { unworked } from "@reins/testing/changes/DeliveryAttempts"
import { forgeConnection, sealed, system, token } from "@reins/testing/changes/Fixture"
import { onLoopback } from "@reins/testing/connections/Loopback"
import { dialects, type KnownForge } from "@reins/testing/forge/ForgeDialects"
import { type Canned, ForgeServer } from "@reins/testing/forge/ForgeServer"
import { services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { forgesOn } from "@reins/testing/Volume"
import { Effect, Exit, Layer } from "effect"

const head = "c".repeat(40)

/** A forge with the branches `main` and `work`. */
const forgeServer = (kind: KnownForge) =>
  Effect.gen(function* () {
    const repository = kind === "gitlab" ? "acme/tools/shop" : "acme/shop"
    const forge = new ForgeServer(dialects[kind](repository), token, {
      headOf: (branch) => ({ main: "a".repeat(40), work: head })[branch],
      merge: () => {}
    })
    const port = yield* onLoopback(() =>
      createServer((request, response) => {
        if (!forge.handle(request, response)) response.writeHead(418).end()
      })
    )
    return { base: `http://127.0.0.1:${port}`, forge, repository }
  })

/** One of several processes on the database, with its own hold on watches. */
const node = (bootId: string) =>
  Effect.gen(function* () {
    const boot = { ...(yield* Boot), bootId, alone: false }
    const store = yield* Effect.provide(
      WatchStore,
      Layer.fresh(Layer.provide(WatchStore.layer, Layer.succeed(Boot, boot)))
    )
    return { ...store, look: yield* Effect.provideService(makeLook, WatchStore, store) }
  })

/** An open merge request that is looked at when a test does it. No worker runs. */
const open = (kind: KnownForge) =>
  Effect.gen(function* () {
    const { base, forge, repository } = yield* forgeServer(kind)
    const { changeset, principal, session } = yield* sealed
    const connection = yield* forgeConnection(kind, base)
    const delivery = yield* unworked(changeset, `${base}/${repository}.git`, "work")
    const journal = yield* Journal
    const store = yield* MergeRequestStore
    const db = yield* Database
    forge.add({ head: "work", base: "main" })
    const another = (connection_id: ConnectionId) =>
      journal.commit(
        Effect.gen(function* () {
          const id = yield* newId(MergeRequestId)
          const more = { connection_id, delivery_id: delivery.id, changeset_id: changeset.id, session_id: session.id }
          const branches = { head_branch: "work", base_branch: "main", title: "t", description: "", draft: false }
          yield* store.insert({ id, ...more, forge: kind, repository, ...branches }, system)
          const webUrl = `${base}/1`
          const remote = { number: 1, webUrl, state: "open", draft: false, description: "", headSha: head } as const
          yield* store.opened(id, remote, false, system)
          return id
        })
      )
    const id = yield* another(connection.id)
    const one = yield* node("boot_one")
    const watch = Effect.flatMap(
      db.first(
        db.sql<{
          failures: number
          look_at: string
          paused_until: string | null
        }>`select * from watches where merge_request_id = ${id}`
      ),
      (row) => (row === undefined ? Effect.dieMessage("no watch") : Effect.succeed(row))
    )
    /** Makes it due, takes it and looks. */
    const look = Effect.gen(function* () {
      yield* db.run(db.sql`update watches set look_at = '2026-01-01T00:00:00.000Z' where merge_request_id = ${id}`)
      for (const held of yield* one.claim(5)) yield* one.look(held)
      return yield* read
    })
    const read = Effect.flatMap(store.find(id), (found) =>
      found === undefined ? Effect.dieMessage("no request") : Effect.succeed(found)
    )
    /** The time by the clock of the database, in milliseconds since 1970. */
    const nowMs = Effect.gen(function* () {
      const row = yield* db.first(db.sql<{ now: Timestamp }>`select ${yield* db.clock.at(0)} as now`)
      return toMillis(row?.now ?? (yield* Effect.dieMessage("no clock")))
    })
    /** The milliseconds until the next look, by the clock of the database. */
    const waitMs = Effect.gen(function* () {
      return Date.parse((yield* watch).look_at) - (yield* nowMs)
    })
    return {
      another,
      base,
      connection,
      db,
      forge,
      id,
      journal,
      look,
      nowMs,
      one,
      principal,
      read,
      session,
      waitMs,
      watch
    }
  })

const near = (actual: number, wanted: number) => assert.approximately(actual, wanted, 20_000)

for (const { layer, name } of databases) {
  const run = Effect.provide(services(layer, { allowPrivateHosts: ["127.0.0.1"] }))

  describe(`looks that fail, on ${name}`, () => {
    it.scopedLive("rows stay as they were read, nothing of them counts as a success, and the next one mends it", () =>
      Effect.gen(function* () {
        const { connection, forge, id, look, principal, read, waitMs, watch } = yield* open("github")
        const { checksOf } = yield* partReads
        forge.check({ head, name: "build", state: "passed" })
        const good = yield* look
        assert.strictEqual(good.standing?.checks.state, "passing")
        const rows = yield* checksOf(id, head)
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
          assert.deepStrictEqual(yield* checksOf(id, head), rows)
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
            yield* open("github")
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
        const { db, forge, id, look, read } = yield* open("gitea")
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
        const { db, forge, id, one } = yield* open("gitea")
        const two = yield* node("boot_two")
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
        const { db, forge, id, one, read } = yield* open("gitea")
        const two = yield* node("boot_two")
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
        const { journal, one, id, waitMs } = yield* open("gitea")
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
    const calls: Readonly<Record<KnownForge, number>> = { github: 6, gitlab: 5, gitea: 4 }
    for (const kind of forgesOn(name))
      it.scopedLive(
        `a look at a quiet request of ${kind} is ${calls[kind]} calls, and writes nothing that is told`,
        () =>
          Effect.gen(function* () {
            const { forge, look, session, db } = yield* open(kind)
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
