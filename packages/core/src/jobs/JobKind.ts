import { Data, type Effect } from "effect"
import type { Commit } from "../store/Commit.js"
import type { WorkFault } from "../store/StorageFault.js"
import type { Claim, Loss } from "./Claim.js"
import type { JobFailure } from "./Job.js"

/** The failure of an attempt. A `retryable` one is tried again until the attempts of the job are used up. */
export class JobError extends Data.TaggedError("JobError")<{
  readonly code: string
  /** Tells a person what happened and what to do next, without secrets. */
  readonly message: string
  readonly retryable: boolean
  /** The least pause before the next attempt in milliseconds, by the number of the attempt that has failed. At most `maxBackOffMs` of it counts. */
  readonly pauseMs?: (attempt: number) => number
  /** `unknown` when an outside effect may or may not have happened. */
  readonly attempt?: "failed" | "unknown"
}> {}

/** Another worker has taken the job over. The attempt must stop, and nothing that it writes from now on counts. */
export class AttemptLost extends Data.TaggedError("AttemptLost")<{ readonly jobId: string }> {}

/** The running attempt, as the work of a kind gets it. */
export interface RunningAttempt {
  readonly claim: Claim
  /** Completes when the job is asked to stop. */
  readonly cancelRequested: Effect.Effect<void>
  /** Commits a command if the attempt is still the running one. */
  readonly commit: <A, E>(command: Effect.Effect<A, E, Commit>) => Effect.Effect<A, E | AttemptLost>
}

/** An end of an attempt that its kind foresees. The command is written in the commit that ends the attempt. */
export type Completion =
  | { readonly state: "succeeded" | "cancelled"; readonly command: Effect.Effect<void, never, Commit> }
  | { readonly state: "failed"; readonly failure: JobFailure; readonly command: Effect.Effect<void, never, Commit> }

/**
 * One kind of durable work. An attempt may die at any point and the job may be attempted again, so `run` looks up every outside
 * effect before it makes it.
 */
export interface JobKind {
  readonly kind: string
  /** The most attempts that run at once in this process. */
  readonly concurrency: number
  /** True for work that begins something new for a session. A node that gives its sessions away leaves it to the next one. */
  readonly beginsWork?: true
  /** True for work on the agents of a machine. A node without sessions has none, and leaves it to the others. */
  readonly forAgents?: true
  /** The longest time of an attempt. After it the attempt is interrupted and fails with `timeout`. */
  readonly deadlineMs: number
  readonly run: (attempt: RunningAttempt) => Effect.Effect<Completion, JobError | AttemptLost>
  /** Gives the command for the commit that ends a job which failed for good. */
  readonly failed: (claim: Claim, failure: JobFailure) => Effect.Effect<void, never, Commit>
  /**
   * Decides what follows an attempt whose worker is lost or could not write its results: another attempt if one is left, or the end of the job.
   * It may look at outside effects and clean up after the lost attempt, because no other process does so at the same time. The command is
   * written in the commit that ends the attempt.
   */
  readonly lost: (
    claim: Claim,
    loss: Loss | WorkFault
  ) => Effect.Effect<{ readonly next: "retry" | "failed"; readonly command: Effect.Effect<void, never, Commit> }>
}

/** The work of a kind of job, without its terms. */
export type JobWork = Pick<JobKind, "run" | "failed" | "lost">
