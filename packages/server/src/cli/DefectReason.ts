import { Cause, Effect } from "effect"

/** The reason of a defect, where the operator of the database or of the disk can mend it. */
export const reasonOfDefect = (cause: Cause.Cause<unknown>): Effect.Effect<string | undefined> =>
  Effect.promise(async () => {
    const { operatorReason } = await import("@reins/core/store/OperatorReasons")
    const { describeFault, storageFaultOf } = await import("@reins/core/store/StorageFault")
    const { CommitUnknown, isConnectionLost } = await import("@reins/core/store/LostConnection")
    const failure = Cause.squash(cause)
    const reason = operatorReason(failure)
    if (reason !== undefined) return reason
    const fault = storageFaultOf(cause)
    if (fault !== undefined) return `${describeFault(fault)}.`
    return isConnectionLost(failure) || failure instanceof CommitUnknown
      ? "The connection to PostgreSQL was lost. Check that it runs, and try again."
      : undefined
  })
