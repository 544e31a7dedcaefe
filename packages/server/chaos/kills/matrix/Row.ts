import type { Job } from "@reins/core/jobs/Job"
import { assert } from "vitest"
import type { Installation } from "../Installation.js"

/** Does something during which the server is killed at the n-th passage of the row's point, the first if none is given. */
export type Crash = <A>(act: () => Promise<A>, passage?: number) => Promise<A>

/** The state that must hold once the server was killed at a point and started again, besides what must hold always. */
export interface Row {
  readonly rule: string
  /** The series that plays this row again and again. */
  readonly series?: "care" | "tools"
  readonly play: (installation: Installation, crash: Crash) => Promise<void>
}

export type Attempts = ReadonlyArray<Job["attempts"][number]["state"]>

/** A job that was lost to a kill and worked again. */
export const again: Attempts = ["abandoned", "succeeded"]
/** A job that had ended before the kill, or had not been there. */
export const once: Attempts = ["succeeded"]

export const holdsAttempts = async (
  installation: Installation,
  operation: { readonly job_id: string } | undefined,
  attempts: Attempts
): Promise<void> => {
  const job = await installation.api.jobs.get({ job_id: operation?.job_id ?? "" })
  assert.deepStrictEqual(
    job.attempts.map((attempt) => attempt.state),
    attempts,
    JSON.stringify(job)
  )
}
