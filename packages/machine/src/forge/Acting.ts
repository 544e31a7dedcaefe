import { oddText, type ReadList, readEach } from "@reins/base/base/ForeignList"
import { Effect, Schema } from "effect"
import type { ShownLog } from "./CheckLogText.js"
import { orNull, WebPage } from "./ForeignParts.js"
import { type Ask, ForgeError, type Refusal, refusedWith, unproven } from "./Forge.js"
import type { ForgeCall } from "./ForgeCalls.js"
import { listIn } from "./Viewing.js"

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
  /** The end of a log. One that the forge does not show is empty, with the reason. */
  log: (call: ForgeCall): Effect.Effect<ShownLog, ForgeError> =>
    ask.text(call).pipe(
      Effect.catchTag("Refusal", (refusal) => Effect.succeed(unshownLog(refusedWith(refusal)))),
      Effect.catchIf(
        ({ kind }) => kind === "forbidden",
        ({ message }) => Effect.succeed(unshownLog(message))
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

const unshownLog = (why: string): ShownLog => ({
  text: "",
  cut: false,
  unshown: `The forge does not show the log. It has none, or the token may not read it. ${why}`
})

/** The failure of a read that the forge refuses. */
export const notShown = (refusal: Refusal): ForgeError => declinedWith("The forge does not show this", refusal)

const declinedWith = (what: string, refusal: Refusal): ForgeError =>
  new ForgeError({
    kind: refusal.status === 404 ? "not_found" : "rejected",
    message: `${what} (${refusedWith(refusal)})`
  })

/** A comment of the talk or of a thread. */
export const SaidComment = Schema.Struct({ id: Schema.Int, body: orNull(Schema.String), html_url: WebPage })

/** The comments in an answer, each by itself. */
export const postedIn = (answer: unknown) => Effect.map(listIn(answer), readEach(SaidComment))

/** The comment that holds a mark; undefined for none. Fails where a comment cannot be read, because the wanted one may be that. */
export const markedIn = <A extends { readonly body: string | null }>(
  { items, odd }: ReadList<A>,
  mark: string
): Effect.Effect<A | undefined, ForgeError> => {
  const own = items.find(({ body }) => body?.includes(mark) === true)
  const [unread] = odd
  return own !== undefined || unread === undefined
    ? Effect.succeed(own)
    : Effect.fail(
        new ForgeError({
          kind: "rejected",
          message: `The forge tells of the comment ${oddText(unread)} in a way that is not known, so nothing is written: answer on its page.`
        })
      )
}

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
