import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, rmSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { MessageId, newId } from "@reins/base/domain/Ids"
import { systemActor } from "@reins/core/access/Access"
import { EventLog } from "@reins/core/events/EventLog"
import { SessionExecutors } from "@reins/core/execution/executor/SessionExecutors"
import { TurnOutput } from "@reins/core/execution/run/TurnOutput"
import { liveState } from "@reins/core/execution/setup/AgentDigest"
import { TurnSetup } from "@reins/core/execution/setup/TurnSetup"
import { turnJob } from "@reins/core/execution/turn/TurnJob"
import type { Claim } from "@reins/core/jobs/Claim"
import { JobClaims } from "@reins/core/jobs/JobClaims"
import { Jobs } from "@reins/core/jobs/Jobs"
import { Messages } from "@reins/core/sessions/Messages"
import { MessagePart } from "@reins/core/sessions/rows/Message"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { turnJobKind } from "@reins/core/sessions/turns/TurnQueue"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { modelCallStore } from "@reins/core/sessions/usage/ModelCallStore"
import { Journal } from "@reins/core/store/Journal"
import { AgentStateStore } from "@reins/core/worktrees/AgentStateStore"
import { Leases } from "@reins/core/worktrees/Leases"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import type { ModelCall } from "@reins/machine/relay/gateway/ModelCall"
import { aMoment } from "@reins/testing/process/Waiting"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Either, Logger, Schema } from "effect"

const runner = systemActor("runner")
const harness = { kind: "harness", id: "alpha" } as const
const internalError = { code: "internal_error", message: "It failed.", retryable: false }
const worker = { workerId: "node-a/7", bootId: "boot_a" }

const stored = (sessionId: string) => Effect.flatMap(SessionStore, (store) => store.find(sessionId))

const sessionRow = (sessionId: string) =>
  Effect.flatMap(stored(sessionId), (row) =>
    row === undefined ? Effect.dieMessage("no session") : Effect.succeed(row)
  )

/** A model call that a gateway has answered, with so many tokens of input where it said it. */
const call = (input: number | null): ModelCall => ({
  protocol: "openai_chat",
  model: "scripted-1",
  hasTools: true,
  startedAt: 0,
  endedAt: 1,
  outcome: "answered",
  status: 200,
  words: null,
  names: "",
  pauseMs: null,
  lack: null,
  usage: input === null ? null : { input, cached: null, cacheWritten: null, output: 1, reasoning: null }
})

/** A process that bears the mark of a lease. */
const bearing = (leaseId: string) =>
  Effect.acquireRelease(
    Effect.sync(() => spawn("sleep", ["600"], { env: { ...process.env, REINS_LEASE: leaseId }, stdio: "ignore" })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

const isAlive = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null

/** A session with two turns, the first of them claimed by a worker and preparing, as far as the database knows. */
const preparing = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const sessions = yield* Sessions
  const turns = yield* Turns
  const turnStore = yield* TurnStore
  const jobs = yield* JobClaims
  const journal = yield* Journal
  const messages = yield* Messages
  const session = yield* sessions.create(principal, workspaceId, {})
  const send = Effect.map(messages.send(principal, session.id, { content: "Go on." }), ({ turn_id }) => turn_id ?? "")
  const first = yield* send
  const second = yield* send
  const claimNext = Effect.map(jobs.claim(turnJobKind, 9, worker), (claims) => claims.map(({ subject }) => subject.id))
  const [claim] = yield* jobs.claim(turnJobKind, 1, worker)
  if (claim === undefined) return yield* Effect.dieMessage("no turn is due")
  const turn = yield* turns.get(principal, first)
  yield* journal.commit(turnStore.move(turn.id, "preparing", runner))
  const fail = (failed: Claim) =>
    journal.commit(
      jobs.finish(failed, {
        state: "retry_wait",
        error: { code: "remote_unavailable", message: "Nobody answers.", retryable: true },
        attempt: "failed",
        delayMs: 60_000
      })
    )
  const leases = yield* Leases
  /** The lease of the session, a new one where none is held. */
  const leaseOf = Effect.gen(function* () {
    yield* journal.commit(leases.allocate(session.id, runner))
    return (yield* (yield* SessionExecutors).get(principal, session.id)).lease
  })
  const loss = (lost: Claim) => Effect.flatMap(turnJob, (kind) => kind.lost(lost, "ended"))
  return {
    leaseOf,
    loss,
    principal,
    session,
    sessions,
    turns,
    turnStore,
    jobs,
    journal,
    turnId: turn.id,
    second,
    claim,
    claimNext,
    fail
  }
})

for (const { layer, name } of flowDatabases) {
  describe(`the attempts of turns on ${name}`, () => {
    const asleep = services(layer)

    for (const state of ["preparing", "running"] as const) {
      it.scopedLive(`a ${state} turn that is cancelled between two attempts ends at once, and the queue goes on`, () =>
        Effect.gen(function* () {
          const { claim, claimNext, fail, journal, principal, second, session, sessions, turnId, turnStore, turns } =
            yield* preparing
          if (state === "running") yield* journal.commit(turnStore.move(turnId, "running", runner))
          yield* fail(claim)
          const cancelled = yield* turns.cancel(principal, turnId)
          assert.deepStrictEqual(
            [cancelled.state, cancelled.reason, cancelled.reason_message],
            ["cancelled", "user_cancelled", "The turn was cancelled."]
          )
          assert.strictEqual((yield* sessions.get(principal, session.id)).active_turn_id, null)
          assert.deepStrictEqual(yield* claimNext, [second])
        }).pipe(Effect.provide(asleep))
      )
    }

    it.scopedLive("a turn that is cancelled while a worker has it is ended by that worker", () =>
      Effect.gen(function* () {
        const { claim, claimNext, jobs, principal, turnId, turns } = yield* preparing
        assert.strictEqual((yield* turns.cancel(principal, turnId)).state, "cancelling")
        assert.deepStrictEqual(yield* jobs.renew(claim), { held: true, cancelRequested: true })
        assert.deepStrictEqual(yield* claimNext, [])
      }).pipe(Effect.provide(asleep))
    )

    it.scopedLive("closing a session ends a turn that waits for another attempt", () =>
      Effect.gen(function* () {
        const { claim, fail, principal, second, session, sessions, turnId, turns } = yield* preparing
        yield* fail(claim)
        yield* sessions.close(principal, session.id)
        for (const id of [turnId, second]) assert.strictEqual((yield* turns.get(principal, id)).state, "cancelled")
      }).pipe(Effect.provide(asleep))
    )

    it.scopedLive(
      "a turn that is lost while it is prepared waits again, and its next attempt has a lease of its own",
      () =>
        Effect.gen(function* () {
          const { claim, journal, leaseOf, loss, principal, session, turnId, turns } = yield* preparing
          const lease = yield* leaseOf
          const { command, next } = yield* loss(claim)
          yield* journal.commit(command)
          assert.strictEqual(next, "retry")
          const { reason, state } = yield* turns.get(principal, turnId)
          assert.deepStrictEqual([state, reason], ["queued", "service_restart"])
          assert.deepStrictEqual((yield* stored(session.id))?.executor.lease?.state, "lost")
          assert.notStrictEqual((yield* leaseOf)?.id, lease?.id)
        }).pipe(Effect.provide(asleep))
    )

    it.scopedLive("a turn that is cancelled while its loss is looked into is cancelled", () =>
      Effect.gen(function* () {
        const { claim, journal, loss, principal, turnId, turns } = yield* preparing
        const { command } = yield* loss(claim)
        yield* turns.cancel(principal, turnId)
        yield* journal.commit(command)
        const { reason, state } = yield* turns.get(principal, turnId)
        assert.deepStrictEqual([state, reason], ["cancelled", "user_cancelled"])
      }).pipe(Effect.provide(asleep))
    )

    it.scopedLive(
      "the loss of an attempt at a turn that has ended leaves the executor to the turn that works there now",
      () =>
        Effect.gen(function* () {
          const { claim, journal, leaseOf, loss, session, turnId, turnStore } = yield* preparing
          yield* journal.commit(turnStore.move(turnId, "failed", runner))
          const lease = yield* leaseOf
          const agent = yield* bearing(lease?.id ?? "")
          yield* journal.commit((yield* loss(claim)).command)
          assert.isTrue(isAlive(agent))
          assert.strictEqual((yield* stored(session.id))?.executor.lease?.state, "allocating")
        }).pipe(Effect.provide(asleep))
    )

    it.scopedLive("ending what bears a lease leaves what bears the one after it", () =>
      Effect.gen(function* () {
        const { journal, leaseOf, session } = yield* preparing
        const leases = yield* Leases
        yield* leaseOf
        const before = yield* stored(session.id)
        yield* journal.commit(leases.lose(session.id, runner, "test"))
        const lease = yield* leaseOf
        const agent = yield* bearing(lease?.id ?? "")
        const after = yield* stored(session.id)
        if (before === undefined || after === undefined) return yield* Effect.dieMessage("no session")
        yield* leases.reap(before)
        assert.isTrue(isAlive(agent))
        yield* leases.reap(after)
        yield* Effect.repeat(aMoment, { while: () => isAlive(agent) })
      }).pipe(Effect.provide(asleep))
    )

    for (const how of ["is lost", "fails for good", "is found by another attempt"]) {
      it.scopedLive(`what the agent had said is a message when its turn ${how}`, () =>
        Effect.gen(function* () {
          const { claim, fail, journal, loss, principal, session, turnId, turnStore, turns } = yield* preparing
          yield* journal.commit(turnStore.move(turnId, "running", runner))
          const messageId = yield* newId(MessageId)
          const output = new TurnOutput(messageId, { turn_id: turnId }, null)
          for (const text of ["I begin ", "and go on"]) {
            const events = output.events([
              { _tag: "reasoning", message_key: "r", text: "Hm." },
              { _tag: "text", message_key: "m", text }
            ])
            yield* journal.commit(journal.append(session.id, harness, events))
          }
          const calls = yield* modelCallStore
          const begun = yield* turns.get(principal, turnId)
          yield* journal.commit(calls.add(yield* sessionRow(session.id), begun, [call(7), call(null), call(35)], {}))
          const kind = yield* turnJob
          if (how === "is lost") yield* journal.commit((yield* loss(claim)).command)
          if (how === "fails for good") yield* journal.commit(kind.failed(claim, internalError))
          if (how === "is found by another attempt") {
            yield* fail(claim)
            const commit = journal.commit
            const { command } = yield* kind.run({ claim, cancelRequested: Effect.never, commit })
            yield* journal.commit(command)
          }
          const turn = yield* turns.get(principal, turnId)
          assert.deepStrictEqual([turn.state, turn.outcome?.message_id], ["interrupted", messageId])
          assert.deepInclude(turn.usage, { calls: 3, reported_calls: 2, input_tokens: 42, cached_tokens: null })
          assert.deepStrictEqual((yield* (yield* Sessions).get(principal, session.id)).usage, turn.usage)
          const said = (yield* (yield* Messages).list(principal, session.id, {})).items.find(
            ({ id }) => id === messageId
          )
          assert.deepInclude(said, {
            role: "assistant",
            turn_id: turnId,
            author: harness,
            content: [{ type: "text", text: "I begin and go on" }]
          })
          const { items } = yield* (yield* EventLog).page(principal, session.id, { limit: 1000 })
          const parts = items.flatMap(({ payload }) =>
            Schema.is(MessagePart)(payload["part"]) ? [payload["part"]] : []
          )
          assert.deepStrictEqual(
            parts
              .filter(({ part_key }) => part_key === "text:m")
              .map(({ content, mode, revision, sealed }) => [content, mode, revision, sealed]),
            [
              ["I begin ", "replace", 1, false],
              ["and go on", "append", 2, false],
              ["", "append", 3, true]
            ]
          )
          assert.strictEqual(items.filter(({ type }) => type === "message.completed").length, 1)
          assert.isNull((yield* (yield* Jobs).get(principal, claim.jobId)).finished_at)
        }).pipe(Effect.provide(asleep))
      )
    }

    for (const state of ["preparing", "running"] as const) {
      it.scopedLive(
        `a ${state} turn that is lost on another machine leaves its agent's state to that machine, and nothing begins without the files`,
        () =>
          Effect.gen(function* () {
            const { claim, journal, loss, session, turnId, turnStore } = yield* preparing
            const trees = yield* WorkingTrees
            const states = yield* AgentStateStore
            yield* trees.make(session.id)
            const state_digest = "sha256:of-the-other-disk"
            yield* journal.commit(states.change(session.id, { native_session_id: "n", native_digest: state_digest }))
            const here = yield* sessionRow(session.id)
            assert.isTrue(yield* trees.isHere(here))
            rmSync((yield* pathsOf(session.id)).root, { recursive: true })
            assert.isFalse(yield* trees.isHere(here))
            if (state === "running") yield* journal.commit(turnStore.move(turnId, "running", runner))

            yield* journal.commit((yield* loss(claim)).command)
            const after = yield* sessionRow(session.id)
            assert.deepStrictEqual([after.agent.native_session_id, after.agent.native_digest], ["n", liveState])
            const refused = yield* Effect.either((yield* TurnSetup).prepare(after, () => Effect.void))
            if (Either.isRight(refused)) return assert.fail("it began in an empty directory")
            assert.deepInclude(refused.left, { reason: "executor_unavailable", retryable: false })
            assert.include(refused.left.message, "files of this session are not on this machine")
            assert.isFalse(existsSync((yield* pathsOf(session.id)).workTree))
          }).pipe(Effect.provide(asleep))
      )
    }

    it.scopedLive(
      "a state of the agent that cannot be read does not keep its turn from ending, and is never gone on from",
      () =>
        Effect.gen(function* () {
          const { session } = yield* preparing
          const row = yield* stored(session.id)
          if (row === undefined) return yield* Effect.dieMessage("no session")
          const setup = yield* TurnSetup
          const digest = setup.nativeDigest({ ...row, provider_id: "gone" })
          assert.strictEqual(yield* Effect.provide(digest, Logger.remove(Logger.defaultLogger)), "unreadable")
        }).pipe(Effect.provide(asleep))
    )
  })
}
