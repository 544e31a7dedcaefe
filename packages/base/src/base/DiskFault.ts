/** The meaning of each known code of the file system, or reason of `BeneathError`, with the step that mends it. */
const steps: Readonly<Record<string, string>> = {
  EACCES: "Give the user of the service access to it.",
  EPERM: "Give the user of the service access to it.",
  denied: "Give the user of the service access to it.",
  ENOSPC: "The disk of the service is full: free space on it, then try again.",
  EDQUOT: "The disk of the service is full for its user: raise the quota, then try again.",
  disk_full: "The disk of the service is full: free space on it, then try again.",
  EROFS: "The disk of the service is read-only: mount it for writing, then try again.",
  read_only: "The disk of the service is read-only: mount it for writing, then try again.",
  EMFILE: "Raise the limit of open files of the service.",
  ENFILE: "Raise the limit of open files of the system."
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
  return `${what} (${reason}).${step === undefined ? "" : ` ${step}`}`
}
