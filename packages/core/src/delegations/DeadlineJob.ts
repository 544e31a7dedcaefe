import { Effect } from "effect"
import type { JobKind } from "../jobs/JobKind.js"
import { delegationEndings } from "./DelegationEndings.js"
import { deadlineJobKind } from "./Spawning.js"

/** Ends a delegation whose deadline has passed. */
export const deadlineJob = Effect.map(
  delegationEndings,
  ({ expire }) =>
    ({
      kind: deadlineJobKind,
      concurrency: 4,
      deadlineMs: 60_000,
      run: ({ claim }) => Effect.succeed({ state: "succeeded" as const, command: expire(claim.subject.id) }),
      failed: () => Effect.void,
      lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
    }) satisfies JobKind
)
