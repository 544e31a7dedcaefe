import { ReinsError } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"

/** Fails with `version_conflict` when the caller expected another version than the stored one. */
export const expectVersion = (
  stored: number,
  expected: number | undefined
): Effect.Effect<void, ReinsError<"version_conflict">> =>
  expected === undefined || expected === stored
    ? Effect.void
    : Effect.fail(
        new ReinsError({
          code: "version_conflict",
          message: `It has changed: its version is ${stored}, not ${expected}. Read it again and repeat the change.`,
          details: { version: stored, expected_version: expected }
        })
      )
