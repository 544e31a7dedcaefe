import { Effect } from "effect"
import type { Commit } from "../store/Commit.js"
import { type Dropped, judgeOverlap } from "./Allowance.js"
import type { AutomationRow } from "./AutomationStore.js"
import { makePayloads } from "./Payloads.js"
import { makeEndings } from "./RunEndings.js"
import { makeRunStart, type Occurrence, overlapWords } from "./RunStart.js"
import { ofAutomation, RunStore } from "./RunStore.js"

/** An occurrence that something outside of the automation decides. */
type Outside = Pick<Occurrence, "closes" | "depth" | "due_at" | "kind"> & { readonly occurrence: string }

/** The fate of an occurrence: its run begins, waits for the run before, or was dropped for a reason. */
export type Occurred = "begin" | "wait" | Dropped

/**
 * Gives the function that makes the run of an occurrence which a hook or an event decides, with what it picks of the body. A job begins the run. One that
 * was dropped keeps its data too, so that it can be made again. Undefined when the occurrence has its run already.
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
  ): Effect.fn.Return<Occurred | undefined, never, Commit> {
    const verdict = judgeOverlap(row, yield* runs.live(row.id))
    const occurrence = { ...outside, late_seconds: 0, payload: yield* payloads.seal(row, body, pick) }
    if (verdict !== "begin" && verdict !== "wait")
      return (yield* skip(row, occurrence, verdict, overlapWords[verdict])) && verdict
    const run = yield* runs.insert({ ...ofAutomation(row), ...occurrence, state: "waiting" })
    if (run !== undefined && verdict === "begin") yield* endings.start(row, run)
    return run && verdict
  })
})
