import { Effect } from "effect"
import * as Memberships from "../access/Memberships.js"
import { automationMailTo } from "../identity/MailJob.js"
import { JobStore } from "../jobs/JobStore.js"
import { Database } from "../store/Database.js"
import { isUnbegun } from "./Allowance.js"
import { type AutomationRow, AutomationStore, type PauseCause } from "./AutomationStore.js"
import { RunStore } from "./RunStore.js"

/**
 * Gives the function that pauses an active automation which the commit holds, and cancels the run that waits for the one before. Unless somebody paused it,
 * its account and the owners of the workspace are sent a mail.
 */
export const makePause = Effect.gen(function* () {
  const store = yield* AutomationStore
  const cancelWaiting = yield* makeCancelWaiting
  const db = yield* Database
  const jobs = yield* JobStore

  const tell = Effect.fnUntraced(function* ({ acts_for, id, name, workspace_id }: AutomationRow, reason: string) {
    const people = new Set([acts_for, ...(yield* Memberships.ownersOf(db, workspace_id))])
    yield* Effect.forEach(people, (accountId) => jobs.enqueue(automationMailTo(accountId, { id, name, reason })), {
      discard: true
    })
  })

  return Effect.fnUntraced(function* (row: AutomationRow, why: PauseCause) {
    if (row.state !== "active") return row
    if (why.reason !== "by_hand") yield* tell(row, why.reason)
    yield* cancelWaiting(row, "paused", "The automation was paused before it began.")
    return yield* store.pause(row, why)
  })
})

/** Gives the function that cancels the run of an automation that waits for the end of the one before. */
export const makeCancelWaiting = Effect.gen(function* () {
  const runs = yield* RunStore
  return Effect.fnUntraced(function* (row: Pick<AutomationRow, "id">, reason: string, message: string) {
    const waiting = (yield* runs.live(row.id)).filter(isUnbegun)
    yield* Effect.forEach(waiting, (run) => runs.move(run, "cancelled", { reason, reason_message: message }), {
      discard: true
    })
  })
})
