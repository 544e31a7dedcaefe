import { fn } from "@reins/base/base/Traced"
import { Effect } from "effect"
import { end } from "./ProcessTable.js"

/**
 * Ends every process that ended boots of the service have left behind: agents with their children, and git. It goes by the processes that run
 * and not by records, so released and unknown leases make no difference. The id of a boot is random and never used again, so no process of
 * another installation is ended. The machine is searched once for all boots, so that a service which is killed again and again has no growing
 * amount of work at its start.
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
