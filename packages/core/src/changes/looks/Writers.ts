import { Clock, Effect } from "effect"
import type { Forge, ForgeError } from "../../forge/Forge.js"
import type { ForgeView } from "../../forge/ForgeView.js"
import type { MergeRequest } from "../MergeRequest.js"
import { partReads } from "./PartRows.js"
import { RequestListeners } from "./RequestListeners.js"

/** The answer of the forge about the right of somebody to write, and its time in milliseconds since 1970. */
export interface AskedWriter {
  readonly may: boolean
  readonly atMs: number
}

/** By the logins. */
export type AskedWriters = Readonly<Record<string, AskedWriter>>

/** An answer is good for so long. */
const goodMs = 60 * 60_000

/** One look asks about so many people, and as many are remembered. */
const mostAsked = 10
const mostKnown = 100

/** Gives the function that asks which of the people who have written on a merge request may write to its repository. */
export const makeAskWriters = Effect.gen(function* () {
  const listeners = yield* RequestListeners
  const { reviewsOf, threadsOf } = yield* partReads

  return Effect.fnUntraced(function* (
    request: MergeRequest,
    view: ForgeView,
    forge: Forge,
    known: AskedWriters
  ): Effect.fn.Return<AskedWriters, ForgeError> {
    if (!(yield* listeners.wantsWriters(request))) return known
    const nowMs = yield* Clock.currentTimeMillis
    const authors =
      view.threads.state === "read"
        ? view.threads.value.flatMap(({ comments }) => comments.map(({ author }) => author))
        : (yield* threadsOf(request.id)).flatMap(({ comments }) =>
            comments.map(({ author: { kind, login } }) => ({ login, isBot: kind === "bot" }))
          )
    const reviewers =
      view.reviews.state === "read"
        ? view.reviews.value.map(({ author }) => author)
        : (yield* reviewsOf(request.id)).map(({ author: { kind, login } }) => ({ login, isBot: kind === "bot" }))
    const people = [...authors, ...reviewers].filter(({ isBot }) => !isBot).map(({ login }) => login)
    const isOld = (login: string) => (known[login]?.atMs ?? 0) < nowMs - goodMs
    const asked: Record<string, AskedWriter> = { ...known }
    for (const login of [...new Set(people)].filter(isOld).slice(-mostAsked)) {
      const may = yield* forge.access(login).pipe(
        Effect.map((access) => access === "write"),
        Effect.catchIf(
          ({ kind }) => kind !== "rate_limited" && kind !== "unauthenticated",
          // A forge that fails for a moment is asked again at the next look.
          ({ kind }) => Effect.succeed(kind === "unavailable" ? undefined : false)
        )
      )
      if (may === undefined) delete asked[login]
      else asked[login] = { may, atMs: nowMs }
    }
    const newest = Object.entries(asked).sort(([, one], [, other]) => other.atMs - one.atMs)
    return Object.fromEntries(newest.slice(0, mostKnown))
  })
})
