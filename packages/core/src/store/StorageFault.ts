import { ReinsError } from "@reins/base/domain/ReinsError"
import { Cause, Chunk } from "effect"
import { isBusy } from "./BusyDatabase.js"
import { CommitUnknown, isConnectionLost } from "./LostConnection.js"

/** A reason that the service cannot write. The caller is not at fault, and the operator can mend it. */
export type StorageFault = "disk_full" | "read_only" | "io_error"

/** A reason that work in the background could not be written. A request is told of the last one by other words. */
export type WorkFault = StorageFault | "database_busy"

const faults: ReadonlyArray<readonly [RegExp, StorageFault]> = [
  // By the codes of the system, of SQLite and of PostgreSQL.
  [/^(?:ENOSPC|EDQUOT|SQLITE_FULL|53100)$/, "disk_full"],
  [/^(?:EROFS|SQLITE_READONLY\w*|25006)$/, "read_only"],
  [/^(?:EIO|SQLITE_IOERR\w*|SQLITE_CANTOPEN\w*|58030)$/, "io_error"]
]

const sentences: Readonly<Record<WorkFault, string>> = {
  disk_full: "The disk of the service is full",
  read_only: "The storage of the service takes no writes",
  io_error: "The disk of the service fails",
  database_busy: "The database of the service was busy or away for too long"
}

/** The fault that a failure comes from; undefined when it comes from something else. */
export const storageFaultOf = (cause: Cause.Cause<unknown>): StorageFault | undefined => {
  for (const error of [
    ...Chunk.toReadonlyArray(Cause.defects(cause)),
    ...Chunk.toReadonlyArray(Cause.failures(cause))
  ]) {
    const fault = faultOf(error)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** The fault by which work in the background could not be written, though nothing is wrong with the work; undefined for another defect. */
export const workFaultOf = (defect: unknown): WorkFault | undefined =>
  storageFaultOf(Cause.die(defect)) ??
  (isBusy(defect) || isConnectionLost(defect) || defect instanceof CommitUnknown ? "database_busy" : undefined)

const faultOf = (error: unknown): StorageFault | undefined => {
  if (typeof error !== "object" || error === null) return undefined
  if ("code" in error && typeof error.code === "string") {
    const { code } = error
    const found = faults.find(([pattern]) => pattern.test(code))
    if (found !== undefined) return found[1]
  }
  return "cause" in error && error.cause !== error ? faultOf(error.cause) : undefined
}

/** The fault as the beginning of a sentence. */
export const describeFault = (fault: WorkFault): string => sentences[fault]

/** The answer to a request that meets the fault. The same request succeeds once there is room again. */
export const storageError = (fault: StorageFault): ReinsError<"waiting_capacity"> =>
  new ReinsError({
    code: "waiting_capacity",
    message: `${sentences[fault]}, so nothing was written. Try again later; the operator has to mend it.`,
    details: { reason: fault },
    retryAfterSeconds: 10
  })
