import { Data, type Effect } from "effect"
import type { JobFailure } from "../domain/Job.js"
import type { Commit } from "../store/Commit.js"
import type { StorageFault } from "../store/StorageFault.js"
import type { Claim, Loss } from "./Claim.js"

/** Why an attempt failed. `retryable` failures are tried again until the attempts of the job are used up. */
export class JobError extends Data.TaggedError("JobError")<{
  readonly code: string
  /** For a person, without secrets: what happened and what to do next. */
  readonly message: string
  readonly retryable: boolean
  /** `unknown` when an outside effect may or may not have happened. */
  readonly attempt?: "failed" | "unknown"
}> {}

/** Another worker has taken the job over: this one must stop, and nothing that it writes counts. */
export class AttemptLost extends Data.TaggedError("AttemptLost")<{ readonly jobId: string }> {}

/** What a running attempt may do besides its work. */
export interface RunningAttempt {
  readonly claim: Claim
  /** Completes when the job is asked to stop. */
  readonly cancelRequested: Effect.Effect<void>
  /** Commits a command if the attempt is still the running one. */
  readonly commit: <A, E>(command: Effect.Effect<A, E, Commit>) => Effect.Effect<A, E | AttemptLost>
}

/** How an attempt ended as its kind foresees, with what is written in the commit that ends it. */
export type Completion =
  | { readonly state: "succeeded" | "cancelled"; readonly command: Effect.Effect<void, never, Commit> }
  | { readonly state: "failed"; readonly failure: JobFailure; readonly command: Effect.Effect<void, never, Commit> }

/**
 * One kind of durable work. An attempt may die at any point and the job may be attempted again, so `run` looks up every outside
 * effect before it makes it.
 */
export interface JobKind {
  readonly kind: string
  /** How many run at once in this process. */
  readonly concurrency: number
  /** The longest an attempt may take; then it is interrupted and fails with `timeout`. */
  readonly deadlineMs: number
  readonly run: (attempt: RunningAttempt) => Effect.Effect<Completion, JobError | AttemptLost>
  /** What is written with the end of a job that failed for good. */
  readonly failed: (claim: Claim, failure: JobFailure) => Effect.Effect<void, never, Commit>
  /**
   * What becomes of a job whose worker is lost or could not write down what it did: another attempt if one is left, or its end. It may
   * look at the world and clean up after the lost attempt, which nobody else does at the same time; the command is written with the end
   * of that attempt.
   */
  readonly lost: (
    claim: Claim,
    loss: Loss | StorageFault
  ) => Effect.Effect<{ readonly next: "retry" | "failed"; readonly command: Effect.Effect<void, never, Commit> }>
}
