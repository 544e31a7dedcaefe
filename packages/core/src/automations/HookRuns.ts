import { Effect, Layer } from "effect"
import { HookListeners, type HookRing } from "../hooks/HookListeners.js"
import { judgeOverlap } from "./Allowance.js"
import type { HookTrigger } from "./Automation.js"
import { type AutomationRow, AutomationStore, optionsOf, triggerOf } from "./AutomationStore.js"
import { wants } from "./Filters.js"
import { makePauseAllOf } from "./Pausing.js"
import { makePayloads } from "./Payloads.js"
import { makeEndings } from "./RunEndings.js"
import { makeRunStart, overlapWords } from "./RunStart.js"
import { ofAutomation, RunStore } from "./RunStore.js"

/** The runs of an automation that may wait for one another when a hook rings. */
const mostWaiting = 5

/** Makes the runs of automations whose hook rings, in the commit of its receipt. A job begins them. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const listeners = yield* HookListeners
    const store = yield* AutomationStore
    const ring = yield* makeRing
    const pauseAllOf = yield* makePauseAllOf

    yield* listeners.register({
      rung: Effect.fnUntraced(function* (rung) {
        let runs = 0
        for (const id of yield* store.having("hook_id", rung.hook.id)) {
          const held = yield* store.lock(id)
          const trigger = held && triggerOf(held.row)
          if (trigger?.kind === "hook" && trigger.hook_id === rung.hook.id && held?.row.state === "active")
            runs += (yield* ring(held.row, trigger, rung)) ? 1 : 0
        }
        return runs
      }),
      removed: (hookId) => pauseAllOf("hook_id", hookId)
    })
  })
)

/** Gives the function that makes the run of a ring. False where the automation does not want it, or has its run already. */
const makeRing = Effect.gen(function* () {
  const runs = yield* RunStore
  const { skip } = yield* makeRunStart
  const payloads = yield* makePayloads
  const endings = yield* makeEndings

  return Effect.fnUntraced(function* (row: AutomationRow, trigger: HookTrigger, ring: HookRing) {
    if (!wants(trigger, ring)) return false
    const occurrence = {
      kind: "hook",
      occurrence: `${ring.hook.id} ${ring.delivery_id}`,
      due_at: ring.at,
      late_seconds: 0
    } as const
    const verdict = judgeOverlap(optionsOf(row), yield* runs.live(row.id), mostWaiting)
    if (verdict === "overlap" || verdict === "coalesced")
      return (yield* skip(row, occurrence, verdict, overlapWords[verdict])) !== undefined
    const payload = yield* payloads.seal(row, ring.body, trigger.pick)
    const run = yield* runs.insert({ ...ofAutomation(row), ...occurrence, state: "waiting", payload })
    if (run !== undefined && verdict === "begin") yield* endings.start(row, run)
    return run !== undefined
  })
})
