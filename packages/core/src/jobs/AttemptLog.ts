import { Cause, Effect } from "effect"
import { logDefect } from "../store/FailedStatement.js"
import { describeFault, storageFaultOf } from "../store/StorageFault.js"
import type { Claim } from "./Claim.js"

/** Logs a defect of the worker. A defect that comes from the disk is one sentence, any other is logged whole. */
export const logWorkerDefect = (what: string, defect: unknown): Effect.Effect<void> => {
  const fault = storageFaultOf(Cause.die(defect))
  return fault === undefined
    ? logDefect(what, defect)
    : Effect.logError(`${describeFault(fault)}: jobs wait until it takes writes again`)
}

/** Logs a defect of an attempt, with the ids of its job. */
export const tellOf =
  (what: string, { attempt, jobId, kind }: Claim) =>
  (defect: unknown): Effect.Effect<void> =>
    Effect.annotateLogs(logWorkerDefect(what, defect), { job_id: jobId, kind, attempt })
