import { assert, layer as suite } from "@effect/vitest"
import type { Actor, NewEvent } from "@reins/base/domain/Event"
import type { SessionId } from "@reins/base/domain/Ids"
import { operator } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { JobStore } from "@reins/core/jobs/JobStore"
import { Bell, sessionTopic } from "@reins/core/store/Bell"
import { type Command, isCommand } from "@reins/core/store/Command"
import { Database } from "@reins/core/store/Database"
import { Idempotency } from "@reins/core/store/Idempotency"
import { Journal } from "@reins/core/store/Journal"
import { countRows, identity } from "@reins/testing/identity/Identity"
import { databases } from "@reins/testing/store/Databases"
import { Cause, Deferred, Effect, Exit, Fiber } from "effect"
import { newSession } from "../events/Sessions.js"
import { letRingsThrough } from "./Rings.js"

const actor: Actor = { kind: "system", id: "test" }

const authority = { by: operator, about: { type: "test", id: null } } as const

const event = (line: string): NewEvent => ({ type: "diagnostic.reported", payload: { kind: "test", line } })

const storedEvents = (sessionId: SessionId) =>
  Effect.flatMap(Database, (db) =>
    db.all(db.sql<{ seq: number; envelope: string }>`select seq, envelope from events
      where session_id = ${sessionId} order by seq`)
  )

const watermark = (sessionId: SessionId) =>
  Effect.flatMap(Database, (db) =>
    db.first(db.sql<{ event_watermark: number }>`select event_watermark from sessions where id = ${sessionId}`)
  )

/** The writes of a command: events, a job, and the answer of its request. */
const written = (sessionId: SessionId) =>
  Effect.all({
    events: Effect.map(storedEvents(sessionId), (events) => events.length),
    watermark: Effect.map(watermark(sessionId), (row) => row?.event_watermark),
    jobs: countRows("jobs", "subject_id", sessionId),
    answers: countRows("idempotency", "key", sessionId)
  })

const everything = (sessionId: SessionId) =>
  Effect.map(Effect.all([Journal, JobStore]), ([journal, jobs]) =>
    Effect.zipRight(
      journal.append(sessionId, actor, [event("a"), event("b")]),
      jobs.enqueue({
        kind: "test.journal",
        subject: { type: "session", id: sessionId },
        workspaceId: null,
        payload: {},
        maxAttempts: 1
      })
    )
  )

const countRings = (sessionId: SessionId) =>
  Effect.gen(function* () {
    const bell = yield* Bell
    yield* letRingsThrough(sessionTopic(sessionId))
    const counted = { rings: 0 }
    const stop = bell.listen(sessionTopic(sessionId), () => {
      counted.rings++
    })
    return { counted, stop }
  })

const answering = <A>(sessionId: SessionId, command: Command<A, ReinsError>, encode = JSON.stringify) =>
  Effect.flatMap(Idempotency, (idempotency) =>
    idempotency.run({
      scope: "test",
      key: sessionId,
      fingerprint: "POST /",
      sealed: false,
      command,
      encode: (result) => ({ status: 200, body: encode(result) }),
      encodeError: (error) => ({ status: error.status, body: error.message })
    })
  )

const busy = new ReinsError({ code: "waiting_capacity", message: "busy" })

for (const { name, layer } of databases) {
  suite(identity(layer), { excludeTestServices: true })(`Journal on ${name}`, (it) => {
    it.effect("a command commits its events, its jobs and its answer", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { sessionId } = yield* newSession
        const { answer } = yield* answering(sessionId, journal.command("test", authority, yield* everything(sessionId)))
        assert.match(answer.body ?? "", /"state":"queued"/)
        assert.deepStrictEqual(yield* written(sessionId), { events: 2, watermark: 2, jobs: 1, answers: 1 })
      })
    )

    it.effect("a command that fails, dies, is interrupted or cannot be answered leaves nothing", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const nothing = { events: 0, watermark: 0, jobs: 0, answers: 0 }

        const failed = yield* newSession
        const failing = journal.command("test", authority, Effect.zipRight(yield* everything(failed.sessionId), busy))
        assert.strictEqual((yield* Effect.flip(answering(failed.sessionId, failing))).code, "waiting_capacity")
        assert.deepStrictEqual(yield* written(failed.sessionId), nothing)

        const died = yield* newSession
        const dying = journal.command(
          "test",
          authority,
          Effect.zipRight(yield* everything(died.sessionId), Effect.dieMessage("bug"))
        )
        assert.isTrue(Exit.isFailure(yield* Effect.exit(answering(died.sessionId, dying))))
        assert.deepStrictEqual(yield* written(died.sessionId), nothing)

        const unanswered = yield* newSession
        const sound = journal.command("test", authority, yield* everything(unanswered.sessionId))
        const unencodable = answering(unanswered.sessionId, sound, () => {
          throw new Error("cannot be encoded")
        })
        assert.isTrue(Exit.isFailure(yield* Effect.exit(unencodable)))
        assert.deepStrictEqual(yield* written(unanswered.sessionId), nothing)

        const interrupted = yield* newSession
        const wrote = yield* Deferred.make<void>()
        const whole = yield* everything(interrupted.sessionId)
        const waiting = journal.command(
          "test",
          authority,
          whole.pipe(Effect.zipRight(Deferred.succeed(wrote, undefined)), Effect.zipRight(Effect.never))
        )
        const fiber = yield* Effect.fork(answering(interrupted.sessionId, waiting))
        yield* Deferred.await(wrote)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(yield* written(interrupted.sessionId), nothing)

        // The connection that the interrupted transaction used is fit for the next one.
        yield* answering(interrupted.sessionId, journal.command("test", authority, whole))
        assert.deepStrictEqual(yield* written(interrupted.sessionId), { events: 2, watermark: 2, jobs: 1, answers: 1 })
      })
    )

    it.effect(
      "50 commits at the same time leave every session with the numbers 1 to n, in the order of its commits",
      () =>
        Effect.gen(function* () {
          const journal = yield* Journal
          const sessions = yield* Effect.all([newSession, newSession, newSession])
          const commits = Array.from({ length: 50 }, (_, index) => {
            const session = sessions[index % sessions.length]
            const lines = Array.from({ length: 1 + (index % 3) }, (_, part) => event(`${index}.${part}`))
            return session === undefined
              ? Effect.dieMessage("no session")
              : Effect.map(journal.commit(journal.append(session.sessionId, actor, lines)), (last) => ({
                  sessionId: session.sessionId,
                  last,
                  lines: lines.length
                }))
          })
          const done = yield* Effect.all(commits, { concurrency: "unbounded" })
          for (const { sessionId } of sessions) {
            const events = yield* storedEvents(sessionId)
            assert.deepStrictEqual(
              events.map((row) => row.seq),
              Array.from({ length: events.length }, (_, index) => index + 1)
            )
            const envelopes = events.map((row) => JSON.parse(row.envelope))
            assert.deepStrictEqual(
              envelopes.map((envelope) => envelope.seq),
              events.map((row) => row.seq)
            )
            assert.strictEqual((yield* watermark(sessionId))?.event_watermark, events.length)
            const mine = done.filter((commit) => commit.sessionId === sessionId)
            assert.strictEqual(
              mine.reduce((sum, commit) => sum + commit.lines, 0),
              events.length
            )
            // The events of one commit are neighbours, in the order that they were given in.
            for (const { last, lines } of mine) {
              const together = envelopes.slice(last - lines, last).map((envelope) => String(envelope.payload.line))
              assert.deepStrictEqual(
                together.map((line) => line.split(".")[1]),
                Array.from({ length: lines }, (_, part) => String(part))
              )
              assert.strictEqual(new Set(together.map((line) => line.split(".")[0])).size, 1)
            }
          }
        })
    )

    it.effect("commits that wait for each other's sessions all go through", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { sessionId: one } = yield* newSession
        const { sessionId: two } = yield* newSession
        const both = (first: SessionId, second: SessionId) =>
          journal.commit(
            journal
              .append(first, actor, [event("first")])
              .pipe(
                Effect.zipRight(Effect.yieldNow()),
                Effect.zipRight(journal.append(second, actor, [event("second")]))
              )
          )
        yield* Effect.all([both(one, two), both(two, one)], { concurrency: "unbounded" })
        assert.strictEqual((yield* watermark(one))?.event_watermark, 2)
        assert.strictEqual((yield* watermark(two))?.event_watermark, 2)
      })
    )

    it.effect("the bell rings after the commit, and not at all when there was none", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { sessionId } = yield* newSession
        const { counted, stop } = yield* countRings(sessionId)
        const append = journal.append(sessionId, actor, [event("x")])
        const during = yield* journal.commit(
          Effect.zipRight(
            append,
            Effect.sync(() => counted.rings)
          )
        )
        assert.strictEqual(during, 0)
        assert.isAtLeast(counted.rings, 1)
        const before = counted.rings
        yield* Effect.exit(journal.commit(Effect.zipRight(append, Effect.fail("no"))))
        assert.strictEqual(counted.rings, before)
        stop()
      })
    )

    it.effect(
      "a commit inside a commit dies before anything is written, and what belongs together requires the commit",
      () =>
        Effect.gen(function* () {
          const journal = yield* Journal
          const { sessionId } = yield* newSession
          const { counted, stop } = yield* countRings(sessionId)
          const append = journal.append(sessionId, actor, [event("x")])
          const inner = yield* Effect.exit(journal.commit(Effect.zipRight(journal.commit(append), append)))
          assert.include(Exit.isFailure(inner) ? Cause.pretty(inner.cause) : "", "a commit inside a commit")
          const command = journal.command(
            "test",
            authority,
            Effect.zipRight(append, journal.command("inner", authority, append))
          )
          assert.isTrue(Exit.isFailure(yield* Effect.exit(answering(sessionId, command))))
          assert.deepStrictEqual(yield* written(sessionId), { events: 0, watermark: 0, jobs: 0, answers: 0 })
          assert.strictEqual(counted.rings, 0)
          stop()
        })
    )

    it.effect(
      "a commit that prepares a command is not the answer of its request, and stays when the request fails",
      () =>
        Effect.gen(function* () {
          const journal = yield* Journal
          const { sessionId } = yield* newSession
          const before = journal.commit(journal.append(sessionId, actor, [event("before")]))
          yield* Effect.flip(answering(sessionId, journal.prepared("test", authority, Effect.zipRight(before, busy))))
          assert.deepStrictEqual(yield* written(sessionId), { events: 1, watermark: 1, jobs: 0, answers: 0 })
          const command = journal.prepared("test", authority, Effect.as(before, Effect.succeed("the answer")))
          assert.strictEqual((yield* answering(sessionId, command)).answer.body, '"the answer"')
          assert.deepStrictEqual(yield* written(sessionId), { events: 2, watermark: 2, jobs: 0, answers: 1 })
        })
    )

    it.effect("a request takes a command and nothing else: no two of them, and none whose result was changed", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { sessionId } = yield* newSession
        const append = journal.append(sessionId, actor, [event("x")])
        const command = journal.command("test", authority, append)
        const refused: ReadonlyArray<Command<number>> = [
          // @ts-expect-error two commands are two commits, and one request has one answer
          Effect.zipRight(command, command),
          // @ts-expect-error the answer is committed before the result is changed
          Effect.map(command, (watermark) => watermark + 1)
        ]
        assert.deepStrictEqual(refused.map(isCommand), [false, false])
        assert.isTrue(isCommand(command))
        // @ts-expect-error what is written requires a commit
        // @effect-diagnostics-next-line missingEffectContext:off
        const outside: Effect.Effect<number> = append
        assert.isTrue(Exit.isFailure(yield* Effect.exit(outside)))
        assert.deepStrictEqual(yield* written(sessionId), { events: 0, watermark: 0, jobs: 0, answers: 0 })
      })
    )

    it.effect("a commit that is run again counts its events from where the session stands", () =>
      Effect.gen(function* () {
        const { dialect, run, sql } = yield* Database
        const journal = yield* Journal
        const { sessionId } = yield* newSession
        let runs = 0
        const breaks = Effect.suspend(() =>
          ++runs === 1 && dialect === "pg" ? run(sql`select pg_terminate_backend(pg_backend_pid())`) : Effect.void
        )
        const append = (line: string) => journal.append(sessionId, actor, [event(line)])
        yield* journal.commit(append("a").pipe(Effect.zipRight(breaks), Effect.zipRight(append("b"))))
        assert.strictEqual(runs, dialect === "pg" ? 2 : 1)
        assert.deepStrictEqual(
          (yield* storedEvents(sessionId)).map(({ seq }) => seq),
          [1, 2]
        )
        assert.strictEqual((yield* watermark(sessionId))?.event_watermark, 2)
      })
    )
  })
}
