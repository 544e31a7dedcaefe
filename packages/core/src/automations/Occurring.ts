import { Effect } from "effect"
import { judgeOverlap } from "./Allowance.js"
import { type AutomationRow, optionsOf } from "./AutomationStore.js"
import { makePayloads } from "./Payloads.js"
import { makeEndings } from "./RunEndings.js"
import { makeRunStart, type Occurrence, overlapWords } from "./RunStart.js"
import { ofAutomation, RunStore } from "./RunStore.js"

/** The runs of an automation that may wait for one another when a hook rings or an event comes. */
const mostWaiting = 5

/** An occurrence that something outside of the automation decides. */
type Outside = Pick<Occurrence, "closes" | "depth" | "due_at" | "kind"> & { readonly occurrence: string }

/**
 * Gives the function that makes the run of an occurrence which a hook or an event decides, with what it picks of the body. A job begins the run. False when
 * the occurrence has its run already.
 */
export const makeOccur = Effect.gen(function* () {
  const runs = yield* RunStore
  const { skip } = yield* makeRunStart
  const payloads = yield* makePayloads
  const endings = yield* makeEndings

  return Effect.fnUntraced(function* (
    row: AutomationRow,
    outside: Outside,
    body: unknown,
    pick: ReadonlyArray<string> | undefined
  ) {
    const occurrence = { ...outside, late_seconds: 0 }
    const verdict = judgeOverlap(optionsOf(row), yield* runs.live(row.id), mostWaiting)
    if (verdict === "overlap" || verdict === "coalesced")
      return (yield* skip(row, occurrence, verdict, overlapWords[verdict])) !== undefined
    const payload = yield* payloads.seal(row, body, pick)
    const run = yield* runs.insert({ ...ofAutomation(row), ...occurrence, state: "waiting", payload })
    if (run !== undefined && verdict === "begin") yield* endings.start(row, run)
    return run !== undefined
  })
})
