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

export const lostAccess =
  "The account that the automation acts for may no longer start work in this workspace, or its API key is no longer good. Somebody who may has to resume it."

/** The reasons of a pause for what an automation had and has no more, with a sentence for people. */
const gone = {
  acts_for: {
    reason: "owner_lost_access",
    message: "The account that the automation acts for was deleted. Somebody who may start work here has to resume it."
  },
  project_id: {
    reason: "project_gone",
    message: "The project was deleted. Give the automation another target, and resume it."
  },
  hook_id: {
    reason: "hook_gone",
    message: "The hook was removed. Give the automation another trigger, and resume it."
  }
} as const satisfies Record<string, PauseCause>

/** Gives the function that pauses every automation of an account, a project or a hook that goes. */
export const makePauseAllOf = Effect.gen(function* () {
  const store = yield* AutomationStore
  const pause = yield* makePause
  return Effect.fnUntraced(function* (what: keyof typeof gone, id: string) {
    for (const automationId of yield* store.having(what, id)) {
      const held = yield* store.lock(automationId)
      if (held !== undefined) yield* pause(held.row, gone[what])
    }
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
