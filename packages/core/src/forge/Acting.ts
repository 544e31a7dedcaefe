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
  /** Fails for everything that the forge does not show. */
  read: (call: ForgeCall): Effect.Effect<unknown, ForgeError> =>
    ask(call).pipe(Effect.catchTag("Refusal", (refusal) => Effect.fail(notShown(refusal)))),
  /** A change that may have happened without an answer. */
  changed: (call: ForgeCall): Effect.Effect<unknown, ForgeError> =>
    ask(call).pipe(
      Effect.catchTag("Refusal", (refusal) => Effect.fail(declinedWith("The forge declines the change", refusal))),
      Effect.mapError(unproven)
    )
})

/** The failure of a read that the forge refuses. */
export const notShown = (refusal: Refusal): ForgeError => declinedWith("The forge does not show this", refusal)

const declinedWith = (what: string, refusal: Refusal): ForgeError =>
  new ForgeError({
    kind: refusal.status === 404 ? "not_found" : "rejected",
    message: `${what} (${refusedWith(refusal)})`
  })

/** Fails for a list with more comments than are read, because the wanted one may be among the others. */
export const tooManyComments = new ForgeError({
  kind: "rejected",
  message: "The merge request has more comments than are read, so nothing is written: answer on its page."
})

/** The forge takes the change of a title, and holds the merge request for what it was. */
export const draftStays = (draft: boolean): ForgeError =>
  new ForgeError({
    kind: "rejected",
    message: draft
      ? "The forge does not take it for a draft, although its title begins like one: convert it on its page."
      : "The forge still takes it for a draft, whose mark in the title is its own: mark it as ready on its page."
  })
