import type { GitError } from "@reins/machine/repository/run/GitError"
import { JobError } from "../jobs/JobKind.js"

/** A machine could not remove what sessions have left for others. */
export const diskFailed = ({ message }: GitError): JobError =>
  new JobError({ code: "disk_failed", message, retryable: true })
