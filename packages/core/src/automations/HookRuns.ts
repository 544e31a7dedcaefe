import { Effect, Layer } from "effect"
import { HookListeners, type HookRing } from "../hooks/HookListeners.js"
import type { HookTrigger } from "./Automation.js"
import { type AutomationRow, AutomationStore, optionsOf, triggerOf } from "./AutomationStore.js"
import { issueAt, wants } from "./Filters.js"
import { makeOccur, type Occurred } from "./Occurring.js"
import { makePauseAllOf } from "./Pausing.js"
import { overlapWords } from "./RunStart.js"

/** Makes the runs of automations whose hook rings, in the commit of its receipt. A job begins them. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const listeners = yield* HookListeners
    const store = yield* AutomationStore
    const ring = yield* makeRing
    const pauseAllOf = yield* makePauseAllOf

    yield* listeners.register({
      rung: Effect.fnUntraced(function* (rung) {
        const came: Array<Occurred> = []
        for (const id of yield* store.having("hook_id", rung.hook.id)) {
          const held = yield* store.lock(id)
          const trigger = held && triggerOf(held.row)
          if (trigger?.kind === "hook" && trigger.hook_id === rung.hook.id && held?.row.state === "active")
            came.push(...(yield* ring(held.row, trigger, rung)))
        }
        const dropped = came.filter((one) => one !== "begin" && one !== "wait")
        const [reason] = dropped
        return {
          runs: came.length,
          queued: came.filter((one) => one === "wait").length,
          dropped: dropped.length,
          ...(reason !== undefined && { reason, reason_message: overlapWords[reason] })
        }
      }),
      removed: (hookId) => pauseAllOf("hook_id", hookId)
    })
  })
)

/** Gives the function that makes the run of a ring, and says what became of it. Nothing where the automation does not want it, or has its run already. */
const makeRing = Effect.gen(function* () {
  const occur = yield* makeOccur
  return Effect.fnUntraced(function* (row: AutomationRow, trigger: HookTrigger, ring: HookRing) {
    if (!wants(trigger, ring)) return []
    const occurrence = { kind: "hook", occurrence: `${ring.hook.id} ${ring.delivery_id}`, due_at: ring.at } as const
    const came = yield* occur(row, { ...occurrence, closes: issueOf(row, ring.body) }, ring.body, trigger.pick)
    return came === undefined ? [] : [came]
  })
})

/** The number of the issue that the merge request of a run closes, where a hook names it. */
const issueOf = (row: AutomationRow, body: unknown): number | null => {
  const pointer = optionsOf(row).deliver?.merge_request?.closes
  return pointer === undefined ? null : issueAt(pointer, body)
}
