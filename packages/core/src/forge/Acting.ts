import { Effect } from "effect"
import { type Ask, ForgeError, type Refusal, refusedWith, unproven } from "./Forge.js"
import type { ForgeCall } from "./ForgeCalls.js"

/** Calls around a merge request, with the answers that say no. */
export const actsBy = (ask: Ask) => ({
  /** Undefined for what the forge does not have, or does not show to the token. */
  shown: <A>(read: Effect.Effect<A, ForgeError | Refusal>): Effect.Effect<A | undefined, ForgeError> =>
    read.pipe(
      Effect.catchTag("Refusal", () => Effect.succeed(undefined)),
      Effect.catchIf(
        (error) => error.kind === "forbidden" || error.kind === "not_found",
        () => Effect.succeed(undefined)
      )
    ),
  /** True when the forge has done it, and false when it cannot. */
  done: (call: ForgeCall): Effect.Effect<boolean, ForgeError> =>
    ask(call).pipe(
      Effect.as(true),
      Effect.catchTag("Refusal", () => Effect.succeed(false)),
      Effect.catchIf(
        ({ kind }) => kind === "forbidden",
        () => Effect.succeed(false)
      )
    ),
  /** A change that may have happened without an answer. */
  changed: (call: ForgeCall): Effect.Effect<unknown, ForgeError> =>
    ask(call).pipe(
      Effect.catchTag("Refusal", (refusal) =>
        Effect.fail(
          new ForgeError({
            kind: refusal.status === 404 ? "not_found" : "rejected",
            message: `The forge declines the comment (${refusedWith(refusal)})`
          })
        )
      ),
      Effect.mapError(unproven)
    )
})
