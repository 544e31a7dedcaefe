import type { AutomationId } from "@reins/base/domain/Ids"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { fromMillis, fromNow, type Timestamp, toMillis } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import type { Commit } from "../store/Commit.js"
import { Journal } from "../store/Journal.js"
import { commandedOf, makeMayAct, principalOf } from "./Acting.js"
import { isUnbegun } from "./Allowance.js"
import type { TimedTrigger } from "./Automation.js"
import { type AutomationRunKind, automationRunStates } from "./AutomationRun.js"
import { type AutomationRow, AutomationStore, optionsOf, timedTriggerOf, triggerOf } from "./AutomationStore.js"
import { lostAccess, makePause } from "./Pausing.js"
import { makePlan, plannedAfter, type Schedules, type Ticket } from "./Plan.js"
import { makeEndings } from "./RunEndings.js"
import { type Held, isFromOutside, makeHold, makeRunStart, type Occurrence, type Unstartable } from "./RunStart.js"
import { ofAutomation, RunStore } from "./RunStore.js"

/** The runs that a workspace may begin in a minute. Others wait, so that an outage ends without a storm. */
const startsPerMinute = 20

/** A hook that rings while so many begin is put off by so long. */
const crowdedMs = 15_000

/** Runs that were missed begin within so many seconds after the server is back. */
const spreadSeconds = 300

/** The occurrences that a ticket is for, seen at one instant. */
interface DueNow {
  readonly newest: number
  readonly count: number
  readonly lateSeconds: number
  /** True for a time that is not older than the automation wants. */
  readonly isFresh: boolean
  /** True when the newest time is to run. */
  readonly runs: boolean
}

const dueNow = (
  schedules: Schedules,
  row: AutomationRow,
  trigger: TimedTrigger,
  { at, due_at }: { readonly due_at: Timestamp; readonly at: number }
): DueNow => {
  const { missed, start_within_seconds } = optionsOf(row)
  const schedule = schedules.scheduleOf(trigger)
  const { count, newest } = schedules.dueUpTo(schedule, toMillis(due_at), at)
  const jitter = schedules.jitterMs(row.id, trigger, schedule, newest)
  const isFresh = at - newest <= start_within_seconds * 1000 + jitter
  return {
    newest,
    count,
    isFresh,
    runs: isFresh || missed === "run_once",
    lateSeconds: Math.floor((at - newest) / 1000)
  }
}

/**
 * Gives the commit of a schedule. It makes the run of the occurrence with its session and its message, and the job of the next occurrence: all of them, or
 * none. A ticket that is void does nothing, so it may come again. A session or a message that is refused fails, and the commit comes again with the refusal.
 */
export const makeFire = Effect.gen(function* () {
  const store = yield* AutomationStore
  const runs = yield* RunStore
  const hold = yield* makeHold
  const plan = yield* makePlan
  const putOff = yield* makePutOff
  const beginAsOwner = yield* makeBeginAsOwner

  /** The row of the times that nobody was there for. */
  const tellMissed = (row: AutomationRow, due_at: Timestamp, { count, lateSeconds, runs: isRun }: DueNow) => {
    const missed = isRun ? count - 1 : count
    return missed === 0
      ? Effect.void
      : runs.insert({
          ...ofAutomation(row),
          kind: kindOf(row),
          state: "skipped",
          occurrence: due_at,
          due_at,
          late_seconds: lateSeconds,
          missed,
          reason: "missed",
          reason_message: missed === 1 ? "Nobody was there at this time." : `Nobody was there at ${missed} times.`
        })
  }

  return Effect.fnUntraced(function* (
    schedules: Schedules,
    id: string,
    ticket: Ticket,
    refusal?: ReinsError
  ): Effect.fn.Return<void, Unstartable, Commit> {
    const held = yield* hold(id)
    if (held === undefined || isVoid(held.row, ticket)) return
    const trigger = timedTriggerOf(held.row)
    if (trigger === undefined) return
    // The claim of the job has proved that the time has come, so a clock that was set back since then changes nothing.
    const at = Math.max(toMillis(held.at), toMillis(ticket.due_at))
    const due = dueNow(schedules, held.row, trigger, { due_at: ticket.due_at, at })
    if (due.runs && (yield* putOff(schedules, held.row, ticket, due))) return
    const next = plannedAfter(schedules, held.row.id, trigger, fromMillis(due.newest))
    const row = yield* store.update(held.row.id, {
      ...(yield* plan(held.row, next)),
      ...(next === undefined && { state: "done" as const })
    })
    yield* tellMissed(row, ticket.due_at, due)
    if (!due.runs) return
    const due_at = fromMillis(due.newest)
    const occurrence = { kind: kindOf(row), occurrence: due_at, due_at, late_seconds: due.lateSeconds }
    yield* beginAsOwner({ ...held, row }, occurrence, refusal)
  })
})

const kindOf = (row: AutomationRow): AutomationRunKind => triggerOf(row).kind

const isVoid = ({ generation, next_due_at, state }: AutomationRow, ticket: Ticket): boolean =>
  state !== "active" || generation !== ticket.generation || next_due_at !== ticket.due_at

/** Gives the function that puts a run off, which is true for one that is: once when it is late, and while too much begins in its workspace. */
const makePutOff = Effect.gen(function* () {
  const store = yield* AutomationStore
  const runs = yield* RunStore
  const plan = yield* makePlan
  return Effect.fnUntraced(function* (
    { digestBelow }: Schedules,
    row: AutomationRow,
    ticket: Ticket,
    { isFresh }: DueNow
  ) {
    const isLate = !isFresh && ticket.put_off !== true
    const isCrowded =
      !isLate && (yield* runs.countStarted(row.workspace_id, yield* fromNow(-60_000))) >= startsPerMinute
    if (!isLate && !isCrowded) return false
    const seconds = isLate ? digestBelow(row.id, spreadSeconds) : 10 + digestBelow(`${row.id} ${ticket.due_at}`, 50)
    const run_at = yield* fromNow(seconds * 1000)
    yield* store.update(row.id, yield* plan(row, { due_at: ticket.due_at, run_at }, true))
    return true
  })
})

/** Gives the function that begins a run with the rights that the account of its automation has now. */
const makeBeginAsOwner = Effect.gen(function* () {
  const start = yield* makeRunStart
  const pause = yield* makePause
  const mayAct = yield* makeMayAct
  const endings = yield* makeEndings
  const runs = yield* RunStore
  const { inCommit } = (yield* Journal).oversight

  return Effect.fnUntraced(function* (held: Held, occurrence: Occurrence, refusal: ReinsError | undefined) {
    const { row } = held
    if (!(yield* mayAct(row))) {
      yield* start.skip(row, occurrence, "owner_lost_access", lostAccess)
      yield* pause(row, { reason: "owner_lost_access", message: lostAccess })
      return
    }
    if (refusal !== undefined) {
      const run = yield* runs.insert({ ...ofAutomation(row), ...occurrence, state: "waiting" })
      if (run !== undefined) yield* endings.refused(row, run, refusal)
      return
    }
    const run = yield* start.begin(held, principalOf(row), occurrence)
    yield* inCommit(commandedOf(row))
    if (run?.state === "failed") yield* endings.count(row, run)
  })
})

/** Gives the commit that begins a run which has waited for the end of the one before. It comes again with a refusal, as that of a schedule does. */
export const makeStartWaiting = Effect.gen(function* () {
  const runs = yield* RunStore
  const hold = yield* makeHold
  const start = yield* makeRunStart
  const pause = yield* makePause
  const mayAct = yield* makeMayAct
  const endings = yield* makeEndings
  const { inCommit } = (yield* Journal).oversight

  return Effect.fnUntraced(function* (
    automationId: AutomationId,
    runId: string,
    refusal?: ReinsError
  ): Effect.fn.Return<void, Unstartable, Commit> {
    const held = yield* hold(automationId)
    const run = yield* runs.find(runId)
    if (held === undefined || run === undefined || run.state !== "waiting" || run.started_at !== null) return
    const { row } = held
    if (!(yield* mayAct(row))) {
      yield* runs.move(run, "skipped", { reason: "owner_lost_access", reason_message: lostAccess })
      yield* pause(row, { reason: "owner_lost_access", message: lostAccess })
      return
    }
    if (refusal !== undefined) {
      yield* endings.refused(row, run, refusal)
      return yield* endings.startNext(row)
    }
    if (isFromOutside(run) && (yield* runs.countStarted(row.workspace_id, yield* fromNow(-60_000))) >= startsPerMinute)
      return yield* endings.start(row, run, yield* fromNow(crowdedMs))
    const begun = yield* start.beginWaiting(held, principalOf(row), run)
    if (isUnbegun(begun)) return
    yield* inCommit(commandedOf(row))
    if (begun.state === "failed") yield* endings.count(row, begun)
    // One that began ends later, and the next one with it.
    if (automationRunStates.isTerminal(begun.state)) yield* endings.startNext(row)
  })
})
