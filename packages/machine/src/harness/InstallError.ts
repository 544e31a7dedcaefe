import { Data } from "effect"

/** A harness cannot be installed. `message` says why, and what to do next. */
export class HarnessInstallError extends Data.TaggedError("HarnessInstallError")<{
  readonly kind: "network" | "integrity" | "platform_unsupported" | "disk" | "disabled" | "executable_missing"
  readonly message: string
}> {}

/** The code of what has failed, or its name. */
export const installCode = (error: unknown): string => {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  return cause instanceof Error && "code" in cause
    ? String(cause.code)
    : cause instanceof Error
      ? cause.name
      : "unknown error"
}

/** The codes of failures of a disk. */
export const diskCodes = new Set(["ENOSPC", "EACCES", "EPERM", "EROFS", "EDQUOT", "EIO", "ENOTDIR"])

export const diskError = (error: unknown): HarnessInstallError =>
  new HarnessInstallError({
    kind: "disk",
    message: `The cache directory cannot be written (${installCode(error)}). Free some space or choose another directory, then install again.`
  })
