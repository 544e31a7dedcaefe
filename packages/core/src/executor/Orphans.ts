import { Effect } from "effect"
import { end } from "./ProcessTable.js"

/**
 * Ends every process that a boot of the service has started and left when it ended: agents with all that they started, and git. It
 * goes by what is running, not by what was written down, so a lease that is released or unknown makes no difference. A boot's id is
 * random and never used again, so processes of another installation on the machine are never meant.
 */
export const endProcessesOf = Effect.fn("Orphans.endProcessesOf")(function* (bootId: string) {
  const ended = yield* Effect.promise(() => end({ kind: "boot", id: bootId }))
  if (ended.length > 0) {
    yield* Effect.logWarning("ended what a process of the service had left running", {
      boot_id: bootId,
      processes: ended.length
    })
  }
})
