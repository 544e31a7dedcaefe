/** The next step for each known code of the file system, or reason of `BeneathError`. */
const steps: Readonly<Record<string, string>> = {
  EACCES: "give the user of the service access to it",
  EPERM: "give the user of the service access to it",
  denied: "give the user of the service access to it",
  ENOSPC: "free space on that disk",
  EDQUOT: "raise the quota of the user of the service",
  disk_full: "free space on that disk",
  EROFS: "mount that disk for writing",
  read_only: "mount that disk for writing",
  EMFILE: "raise the limit of open files",
  ENFILE: "raise the limit of open files"
}

const textOf = (cause: unknown, name: "code" | "reason"): string | undefined => {
  const value: unknown = typeof cause === "object" && cause !== null ? Reflect.get(cause, name) : undefined
  return typeof value === "string" ? value : undefined
}

/**
 * A sentence about an operation on files that failed: the reason that the system gave, and the step that mends it. `what` says the operation, as in
 * "The index could not be written".
 */
export const diskFault = (what: string, cause: unknown): string => {
  const reason = textOf(cause, "code") ?? textOf(cause, "reason")
  if (reason === undefined)
    return `${what}, for a reason that the system did not name: the log of the service has more.`
  const step = steps[reason]
  return `${what} (${reason})${step === undefined ? "." : `: ${step}.`}`
}
