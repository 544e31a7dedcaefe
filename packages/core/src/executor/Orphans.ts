import { Effect } from "effect"
import { fn } from "../base/Traced.js"
import { end } from "./ProcessTable.js"

/**
 * Ends every process that boots of the service have started and left when they ended: agents with all that they started, and git. It
 * goes by what is running, not by what was written down, so a lease that is released or unknown makes no difference. A boot's id is
 * random and never used again, so processes of another installation on the machine are never meant. The machine is looked through
 * once for all of them: a service that is killed again and again before it is done must not have more to do each time.
 */
export const endProcessesOf = fn("Orphans.endProcessesOf")(function* (bootIds: ReadonlyArray<string>) {
  const ended = yield* Effect.promise(() => end(...bootIds.map((id) => ({ kind: "boot" as const, id }))))
  if (ended.length > 0) {
    yield* Effect.logWarning("ended what a process of the service had left running", {
      boot_ids: bootIds,
      processes: ended.length
    })
  }
})
