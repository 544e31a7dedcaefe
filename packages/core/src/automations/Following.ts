import { Effect } from "effect"
import { FollowerStore } from "../events/FollowerStore.js"
import { WorkspaceEvents } from "../events/WorkspaceEvents.js"
import type { AutomationTrigger } from "./Automation.js"
import type { AutomationRow } from "./AutomationStore.js"
import { automationsFollower, followerKey } from "./EventRuns.js"
import { loadSchedules, type Schedules } from "./Plan.js"

/** The facts of a trigger that a command needs before its commit. */
export interface Prepared {
  readonly schedules: Schedules
  /** The newest position of the workspace; undefined for a trigger that is no event. */
  readonly head: number | undefined
}

/** Gives the function that prepares a command whose trigger begins anew. */
export const makePrepareTrigger = Effect.gen(function* () {
  const events = yield* WorkspaceEvents
  return Effect.fnUntraced(function* (workspaceId: string | undefined, trigger: AutomationTrigger | undefined) {
    const schedules = yield* loadSchedules
    const isFollowing = workspaceId !== undefined && trigger?.kind === "event"
    const prepared: Prepared = { schedules, head: isFollowing ? (yield* events.ends(workspaceId)).head : undefined }
    return prepared
  })
})

/** Gives the function that has the events of a workspace read for an automation, from behind a position. */
export const makeFollow = Effect.gen(function* () {
  const positions = (yield* FollowerStore)(automationsFollower)
  return Effect.fnUntraced(function* (row: Pick<AutomationRow, "generation" | "id">, { head }: Prepared) {
    if (head === undefined) return
    const key = followerKey(row)
    yield* positions.begin(key, head)
    yield* positions.wake(key)
  })
})
