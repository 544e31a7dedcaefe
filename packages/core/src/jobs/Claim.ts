import type { AttemptId, JobId, OperationId, SessionId } from "@reins/base/domain/Ids"
import { Effect, Random } from "effect"
import type { JobFailure, Subject } from "./Job.js"

/** A job that a worker has claimed, with the attempt that entitles the worker to write. */
export interface Claim {
  readonly workerId: string
  /** The boot that may write. It is the boot of the worker, or the boot that ends the attempt in its place. */
  readonly bootId: string
  readonly jobId: JobId
  readonly operationId: OperationId
  readonly kind: string
  readonly subject: Subject
  readonly payload: Readonly<Record<string, unknown>>
  /** The session whose files the work needs; null for none. */
  readonly filesOf: SessionId | null
  readonly attemptId: AttemptId
  /** The ordinal of the attempt, from 1. */
  readonly attempt: number
  readonly maxAttempts: number
}

/** A worker is lost when its process has `ended`, or when it was `silent` until its claim ran out. A silent worker may still live. */
export type Loss = "ended" | "silent"

/** The states of an attempt that ended without success. */
export type AttemptEnd = "failed" | "abandoned" | "unknown"

/** The end of an attempt, and the state that its job moves to. */
export type Outcome =
  | { readonly state: "succeeded" }
  | { readonly state: "cancelled" }
  | { readonly state: "failed"; readonly error: JobFailure; readonly attempt: AttemptEnd }
  | {
      readonly state: "retry_wait"
      readonly error: JobFailure
      readonly attempt: AttemptEnd
      readonly delayMs: number
    }

/** Milliseconds to wait after an attempt: min(2^n, 300) seconds, 10 % more or less. */
export const backOff = (attempt: number): Effect.Effect<number> =>
  Effect.map(Random.next, (share) => Math.round(Math.min(2 ** attempt, 300) * 1000 * (0.9 + share * 0.2)))

/** No `backOff` is longer, in milliseconds. */
export const maxBackOffMs = 330_000
