import { failpoint } from "@reins/base/base/Failpoint"
import { fn } from "@reins/base/base/Traced"
import { AutomationId } from "@reins/base/domain/Ids"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { Effect, Schema } from "effect"
import type { AttemptLost, JobKind, RunningAttempt } from "../jobs/JobKind.js"
import type { Commit } from "../store/Commit.js"
import { Journal } from "../store/Journal.js"
import { commandedOf } from "./Acting.js"
import { AutomationStore } from "./AutomationStore.js"
import { makeFire, makeStartWaiting } from "./Firing.js"
import { makePause } from "./Pausing.js"
import { fireJobKind, loadSchedules } from "./Plan.js"
import { makeEndings, startJobKind } from "./RunEndings.js"
import { expireJobKind } from "./RunStart.js"
import { RunStore } from "./RunStore.js"
import { makeExpire } from "./RunTurns.js"

const TicketPayload = Schema.Struct({
  generation: Schema.Int,
  due_at: Timestamp,
  put_off: Schema.optionalWith(Schema.Boolean, { exact: true })
})

const StartPayload = Schema.Struct({ automation_id: AutomationId })

const done = { state: "succeeded", command: Effect.void } as const

const shared = {
  concurrency: 4,
  deadlineMs: 60_000,
  failed: () => Effect.void,
  lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
} satisfies Partial<JobKind>

/**
 * Gives the function that commits the beginning of a run. When policy, its session or its message refuses it, nothing of that commit stands, and another one
 * writes the refusal down. Both do nothing for an occurrence that has its run, so that a kill at any point makes no second one.
 */
const makeBeginOrTell = Effect.gen(function* () {
  const store = yield* AutomationStore
  const { oversight } = yield* Journal

  return Effect.fnUntraced(function* (
    { commit }: RunningAttempt,
    automationId: string,
    begin: (refusal?: ReinsError) => Effect.Effect<void, ReinsError, Commit>
  ): Effect.fn.Return<void, AttemptLost> {
    const row = yield* store.find(automationId)
    if (row === undefined) return
    yield* failpoint("automation.claimed")
    const allowed: Effect.Effect<void, ReinsError> = oversight.before(commandedOf(row))
    const tried: Effect.Effect<void, ReinsError | AttemptLost> = Effect.zipRight(allowed, commit(begin()))
    yield* tried.pipe(
      Effect.catchTag("ReinsError", (refusal) =>
        commit(begin(refusal)).pipe(Effect.catchTag("ReinsError", (again) => Effect.die(again)))
      )
    )
    yield* failpoint("automation.begun")
  })
})

/** Fires an automation at its time. */
export const fireJob = Effect.gen(function* () {
  const fire = yield* makeFire
  const beginOrTell = yield* makeBeginOrTell
  const store = yield* AutomationStore
  const pause = yield* makePause
  return {
    ...shared,
    kind: fireJobKind,
    beginsWork: true,
    run: fn("fireJob.run")(function* (attempt) {
      const { claim } = attempt
      const ticket = yield* Effect.orDie(Schema.decodeUnknown(TicketPayload)(claim.payload))
      const schedules = yield* loadSchedules
      yield* beginOrTell(attempt, claim.subject.id, (refusal) => fire(schedules, claim.subject.id, ticket, refusal))
      return done
    }),
    // Nothing else would ever make it due again.
    failed: Effect.fnUntraced(function* ({ subject }, { message }) {
      const held = yield* store.lock(subject.id)
      if (held !== undefined)
        yield* pause(held.row, { reason: "failures", message: `It could not be fired. ${message}` })
    })
  } satisfies JobKind
})

/** Begins a run that has waited for the end of the one before. */
export const startJob = Effect.gen(function* () {
  const start = yield* makeStartWaiting
  const beginOrTell = yield* makeBeginOrTell
  const store = yield* AutomationStore
  const runs = yield* RunStore
  const endings = yield* makeEndings
  return {
    ...shared,
    kind: startJobKind,
    beginsWork: true,
    run: fn("startJob.run")(function* (attempt) {
      const { claim } = attempt
      const { automation_id } = yield* Effect.orDie(Schema.decodeUnknown(StartPayload)(claim.payload))
      yield* beginOrTell(attempt, automation_id, (refusal) => start(automation_id, claim.subject.id, refusal))
      return done
    }),
    failed: Effect.fnUntraced(function* ({ subject }, { code, message }) {
      const found = yield* runs.find(subject.id)
      const held = found && (yield* store.lock(found.automation_id))
      const run = yield* runs.find(subject.id)
      if (run?.state === "waiting") yield* runs.move(run, "failed", { reason: code, reason_message: message })
      if (held !== undefined) yield* endings.startNext(held.row)
    })
  } satisfies JobKind
})

/** Cancels the turn of a run that takes too long. */
export const expireJob = Effect.map(
  makeExpire,
  (expire) =>
    ({
      ...shared,
      kind: expireJobKind,
      run: ({ claim }) => Effect.succeed({ state: "succeeded" as const, command: expire(claim.subject.id) })
    }) satisfies JobKind
)
