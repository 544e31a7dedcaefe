import type { Principal } from "@reins/base/domain/Principal"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import { fromNow, now, type Timestamp } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { actorOf } from "../access/Access.js"
import type { BudgetInput } from "../budgets/Budget.js"
import { BudgetStore } from "../budgets/BudgetStore.js"
import { JobStore } from "../jobs/JobStore.js"
import { SessionLifecycles, type Unbegun } from "../sessions/creation/SessionLifecycles.js"
import { Inbox } from "../sessions/Inbox.js"
import type { Unpostable } from "../sessions/MessageAdmission.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { sessionBudgets, type Unenforceable } from "../sessions/usage/SessionBudgets.js"
import type { Commit } from "../store/Commit.js"
import { allowanceOf, type Dropped, judgeOverlap, mostWaiting } from "./Allowance.js"
import type { NewSessionTarget } from "./Automation.js"
import type { AutomationRun, SkipReason } from "./AutomationRun.js"
import { type AutomationRow, AutomationStore, automationTarget, optionsOf } from "./AutomationStore.js"
import { makePause } from "./Pausing.js"
import { makePayloads } from "./Payloads.js"
import { ofAutomation, type RunRow, RunStore } from "./RunStore.js"

/** The kind of the job that cancels the turn of a run that takes too long. */
export const expireJobKind = "automation.expire"

/** An automation that the commit holds, with the session that it writes to, and the time of the database. */
export interface Held {
  readonly row: AutomationRow
  /** Undefined for a target that makes sessions, and for a session that is gone. */
  readonly session: SessionRow | undefined
  readonly at: Timestamp
}

/** The occurrence that a run is for. */
export interface Occurrence extends Pick<AutomationRun, "due_at" | "kind" | "late_seconds"> {
  /** What tells it apart; it is one of a kind without it. */
  readonly occurrence?: string
  /** The data of a hook, sealed. */
  readonly payload?: string | null
  /** The number of the issue that its merge request closes. */
  readonly closes?: number | null
  /** The runs that led to it by their events, itself among them. */
  readonly depth?: number
  readonly retry_of_run_id?: AutomationRun["id"]
}

/** The refusals of the session or the message of a run. */
export type Unstartable = Unbegun | Unpostable | Unenforceable | ReinsError<"forbidden" | "not_found">

/** Holds an automation, in the order in which the turns of sessions hold theirs. Undefined for one that is gone. */
export const makeHold = Effect.gen(function* () {
  const store = yield* AutomationStore
  const sessions = yield* SessionStore

  const hold = (id: string): Effect.Effect<Held | undefined, never, Commit> =>
    Effect.gen(function* () {
      const unheld = yield* store.find(id)
      if (unheld === undefined) return undefined
      const target = automationTarget(unheld)
      const session = target.kind === "session" ? yield* sessions.lock(target.session_id) : undefined
      const held = yield* store.lock(id)
      if (held === undefined) return undefined
      // It was given another target meanwhile.
      return held.row.target === unheld.target ? { ...held, session } : yield* hold(id)
    })
  return hold
})

/** The beginnings of runs, inside a commit that holds their automation. */
export const makeRunStart = Effect.gen(function* () {
  const runs = yield* RunStore
  const pause = yield* makePause
  const work = yield* makeWork

  const skip = (row: AutomationRow, occurrence: Occurrence, reason: SkipReason, message: string) =>
    runs.insert({ ...ofAutomation(row), ...occurrence, state: "skipped", reason, reason_message: message })

  return {
    skip,
    /**
     * Makes the run of an occurrence, and begins its work unless the run before or the budget is in the way. Undefined when the occurrence has a run. Fails
     * when a session or a message is refused; nothing of the commit may stand then.
     */
    begin: Effect.fnUntraced(function* (
      held: Held,
      by: Principal,
      occurrence: Occurrence
    ): Effect.fn.Return<RunRow | undefined, Unstartable, Commit> {
      const { row } = held
      const options = optionsOf(row)
      const live = yield* runs.live(row.id)
      const verdict = judgeOverlap(row, live)
      if (verdict !== "begin" && verdict !== "wait") return yield* skip(row, occurrence, verdict, overlapWords[verdict])
      const allowance = allowanceOf(options, row, live)
      if (allowance === "spent") {
        yield* pause(row, { reason: "budget_exhausted", message: spentWords })
        return yield* skip(row, occurrence, "budget", spentWords)
      }
      if (allowance === "reserved") return yield* skip(row, occurrence, "budget", reservedWords)
      const run = yield* runs.insert({ ...ofAutomation(row), ...occurrence, state: "waiting" })
      if (run === undefined || verdict === "wait") return run
      return yield* work(held, by, run, allowance.limits)
    }),
    /** Begins a run that has waited for the end of the one before. */
    beginWaiting: Effect.fnUntraced(function* (
      held: Held,
      by: Principal,
      run: RunRow
    ): Effect.fn.Return<RunRow, Unstartable, Commit> {
      const others = (yield* runs.live(held.row.id)).filter(({ id }) => id !== run.id)
      const allowance = allowanceOf(optionsOf(held.row), held.row, others)
      if (typeof allowance === "object") return yield* work(held, by, run, allowance.limits)
      // What a call has brought waits on, until the others have ended and it is known what they have spent.
      if (allowance === "reserved" && isFromOutside(run)) return run
      if (allowance === "spent") yield* pause(held.row, { reason: "budget_exhausted", message: spentWords })
      const reason_message = allowance === "spent" ? spentWords : reservedWords
      const stands = (yield* runs.find(run.id)) ?? run
      // A pause has ended it.
      return stands.state === "waiting"
        ? yield* runs.move(stands, "skipped", { reason: "budget", reason_message })
        : stands
    })
  }
})

/** True for a run that brings its own work: a call of a hook, or an event. */
export const isFromOutside = ({ kind }: Pick<RunRow, "kind">): boolean => kind === "hook" || kind === "event"

export const overlapWords: Readonly<Record<Dropped, string>> = {
  queue_full: `${mostWaiting} runs wait already for the end of the one before, and more are not kept waiting. Make this one again when there is room.`,
  overlap: "The run before had not ended. Choose overlap wait, queue or parallel if this one should have begun.",
  coalesced: "A run waits already for the end of the one before. It does the work of this one too."
}

const spentWords = "The total budget is used up. Raise it, and resume the automation."
const reservedWords = "The runs that have not ended may use up the rest of the total budget."

/** The session of a run, and its turn if the message has one already. */
type Sent = Pick<RunRow, "session_id" | "turn_id">

/** Gives the function that makes the session or the message of a run. */
const makeWork = Effect.gen(function* () {
  const runs = yield* RunStore
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const lifecycles = yield* SessionLifecycles
  const inbox = yield* Inbox
  const budgets = yield* BudgetStore
  const limits = yield* sessionBudgets
  const pause = yield* makePause
  const payloads = yield* makePayloads

  const newSession = Effect.fnUntraced(function* (
    row: AutomationRow,
    by: Principal,
    { kind: _, message, ...input }: NewSessionTarget,
    budget: BudgetInput | null
  ): Effect.fn.Return<Sent, Unstartable, Commit> {
    const actor = actorOf(by)
    const session = yield* lifecycles.begin(row.workspace_id, actor, { title: row.name, ...input })
    if (budget !== null) {
      yield* limits.require(session, actor, budget)
      yield* budgets.set(session.id, budget)
    }
    const sent = yield* inbox.post(session, actor, { content: message }, "message")
    return { session_id: session.id, turn_id: sent.turn_id ?? null }
  })

  /** Undefined for a session that nobody can write to any more. */
  const send = Effect.fnUntraced(function* (
    { row, session }: Held,
    by: Principal,
    run: RunRow,
    budget: BudgetInput | null
  ): Effect.fn.Return<Sent | undefined, Unstartable, Commit> {
    const written = automationTarget(row)
    const target = { ...written, message: yield* payloads.append(written.message, run) }
    if (target.kind === "new_session") return yield* newSession(row, by, target, budget)
    // A session that is being deleted is not found.
    const open = yield* Effect.catchIf(
      session === undefined ? notFound() : sessions.writable(by, session.id),
      (refusal) => refusal.is("not_found"),
      () => Effect.succeed(undefined)
    )
    if (open === undefined || session === undefined || open.lifecycle === "closed") return undefined
    const posting = { content: target.message, ...(budget !== null && { budget }) }
    const { turn_id } = yield* inbox.post(session, actorOf(by), posting, "message")
    return { session_id: session.id, turn_id: turn_id ?? null }
  })

  return Effect.fnUntraced(function* (held: Held, by: Principal, run: RunRow, budget: BudgetInput | null) {
    const { row } = held
    const sent = yield* send(held, by, run, budget)
    if (sent === undefined) {
      const failed = yield* runs.move(run, "failed", { reason: "session_gone", reason_message: sessionGone })
      yield* pause(row, { reason: "session_gone", message: sessionGone })
      return failed
    }
    const { max_minutes } = optionsOf(row)
    const expiry =
      max_minutes === null
        ? undefined
        : yield* jobs.enqueue({
            kind: expireJobKind,
            subject: { type: "automation_run", id: run.id },
            workspaceId: row.workspace_id,
            payload: {},
            maxAttempts: 20,
            runAt: yield* fromNow(max_minutes * 60_000)
          })
    return yield* runs.update(run.id, {
      ...sent,
      budget: budget === null ? null : JSON.stringify(budget),
      expiry_job_id: expiry?.job_id ?? null,
      started_at: yield* now
    })
  })
})

const sessionGone = "The session was closed or deleted. Give the automation another target, and resume it."
