import type { ReinsError } from "@reins/base/domain/ReinsError"
import type { Timestamp } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import { nano } from "../budgets/BudgetRow.js"
import { BudgetStore } from "../budgets/BudgetStore.js"
import { JobStore } from "../jobs/JobStore.js"
import { isUnbegun, widthOf } from "./Allowance.js"
import { type AutomationRow, AutomationStore, automationTarget, optionsOf } from "./AutomationStore.js"
import { makePause } from "./Pausing.js"
import { type LiveRun, type RunRow, RunStore } from "./RunStore.js"

/** The kind of the job that begins a run which has waited for the end of the one before. */
export const startJobKind = "automation.start"

/** Counts the end of a run for its automation, which the commit holds. */
export const makeEndings = Effect.gen(function* () {
  const store = yield* AutomationStore
  const runs = yield* RunStore
  const jobs = yield* JobStore
  const budgets = yield* BudgetStore
  const pause = yield* makePause

  /** The tokens and the cost of a run, for the total of its automation. Without a total nobody asks. */
  const spentBy = Effect.fnUntraced(function* (row: AutomationRow, run: RunRow) {
    const subject = automationTarget(row).kind === "new_session" ? run.session_id : run.turn_id
    if (optionsOf(row).budget?.total === undefined || subject === null) return {}
    const budget = yield* budgets.find(subject)
    if (budget === null) return {}
    const { spent_cost_usd, spent_tokens } = budget
    return {
      spent_tokens: row.spent_tokens + spent_tokens,
      ...(spent_cost_usd !== null && {
        spent_nano_usd: (row.spent_nano_usd ?? 0) + Math.round(spent_cost_usd * nano)
      })
    }
  })

  /** Counts an ended run, and pauses the automation after too many failures. Runs by hand count only as a success. */
  const count = Effect.fnUntraced(function* (row: AutomationRow, run: RunRow) {
    const isByHand = run.kind === "hand" || run.kind === "retry"
    const failures =
      run.state === "succeeded" ? 0 : run.state === "failed" && !isByHand ? row.failures + 1 : row.failures
    const counted = yield* store.update(row.id, { failures, ...(yield* spentBy(row, run)) })
    const most = optionsOf(row).pause_after_failures
    if (failures > row.failures && most !== null && failures >= most)
      yield* pause(counted, { reason: "failures", message: tooManyFailures(failures, run) })
  })

  /** Has a waiting run begin, at a time or now. */
  const start = Effect.fnUntraced(function* (row: AutomationRow, run: LiveRun, runAt?: Timestamp) {
    yield* jobs.enqueue({
      kind: startJobKind,
      subject: { type: "automation_run", id: run.id },
      workspaceId: row.workspace_id,
      payload: { automation_id: row.id },
      maxAttempts: 20,
      ...(runAt !== undefined && { runAt })
    })
  })

  return {
    count,
    start,
    /** Ends a run whose session or message was refused. */
    refused: Effect.fnUntraced(function* (row: AutomationRow, run: RunRow, { code, details, message }: ReinsError) {
      const failed = yield* runs.move(run, "failed", { reason: code, reason_message: message })
      const isArchived = details !== undefined && "archived_at" in details
      if (isArchived) yield* pause(row, { reason: "project_archived", message })
      else yield* count(row, failed)
    }),
    /** Has those runs begin, oldest first, that there is room for beside the others. */
    startNext: Effect.fnUntraced(function* (row: AutomationRow) {
      const live = yield* runs.live(row.id)
      const waiting = live.filter(isUnbegun)
      const room = Math.max(0, widthOf(row) - (live.length - waiting.length))
      yield* Effect.forEach(waiting.slice(0, room), (next) => start(row, next), { discard: true })
    })
  }
})

const tooManyFailures = (failures: number, { reason_message }: RunRow): string =>
  `${failures === 1 ? "A run" : `${failures} runs one after another`} failed. Look at the last one, and resume the automation.${
    reason_message === null ? "" : ` It says: ${reason_message}`
  }`
