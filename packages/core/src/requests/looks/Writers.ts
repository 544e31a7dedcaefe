import type { RepositoryAccess } from "@reins/machine/forge/BranchRules"
import type { Forge, ForgeError } from "@reins/machine/forge/Forge"
import type { ForgeView } from "@reins/machine/forge/ForgeView"
import { Clock, Effect } from "effect"
import type { MergeRequest } from "../rows/MergeRequest.js"
import { partReads, reviewIn, threadIn } from "../rows/PartRows.js"
import { RequestListeners } from "../rows/RequestListeners.js"
import { objectorsOf, type Rights } from "./Objections.js"

/** The answer of the forge about the right of somebody to write, and its time in milliseconds since 1970. */
export interface AskedWriter {
  /** Null where the forge does not show it to the token. */
  readonly may: boolean | null
  readonly atMs: number
}

/** By the logins. */
export type AskedWriters = Readonly<Record<string, AskedWriter>>

/** The answers that are known, and whether there are more people to ask about than one look asks for. */
export interface AskedPeople {
  readonly writers: AskedWriters
  readonly isAsking: boolean
}

export const isWriter = (access: RepositoryAccess | null): boolean | null => access && access === "write"

export const rightsIn = (writers: AskedWriters = {}): Rights =>
  new Map(Object.entries(writers).map(([login, { may }]) => [login, may]))

/** An answer is good for so long. */
const goodMs = 60 * 60_000

/** One look asks about so many people, and as many are remembered. */
const mostAsked = 20
const mostKnown = 200

/**
 * Gives the function that asks who may write to the repository of a merge request. It asks for people who object, because an objection counts as an
 * approval does. It asks for all who have written where a listener wants it.
 */
export const makeAskWriters = Effect.gen(function* () {
  const listeners = yield* RequestListeners
  const { judgedReviewsOf, threadsOf } = yield* partReads

  /** Those whose word is in the way come first. */
  const people = Effect.fnUntraced(function* (request: MergeRequest, view: ForgeView, self: string | undefined) {
    const reviews =
      view.reviews.state === "read" ? view.reviews.value.map(reviewIn(self)) : yield* judgedReviewsOf(request.id)
    const threads =
      view.threads.state === "read" ? view.threads.value.map(threadIn(self)) : yield* threadsOf(request.id)
    const all = (yield* listeners.wantsWriters(request))
      ? [
          ...threads.flatMap(({ comments }) => comments.map(({ author }) => author)),
          ...reviews.map(({ author }) => author)
        ]
      : []
    // The newest of those who have only written come first.
    return [...objectorsOf(reviews, threads), ...all.toReversed()]
  })

  return Effect.fnUntraced(function* (
    request: MergeRequest,
    view: ForgeView,
    forge: Forge,
    { self, writers: known = {} }: { readonly self: string | null; readonly writers?: AskedWriters }
  ): Effect.fn.Return<AskedPeople, ForgeError> {
    const nowMs = yield* Clock.currentTimeMillis
    const found = (yield* people(request, view, self ?? undefined)).filter(({ kind }) => kind !== "bot")
    const isOld = (login: string) => (Object.hasOwn(known, login) ? (known[login]?.atMs ?? 0) : 0) < nowMs - goodMs
    const wanted = [...new Set(found.map(({ login }) => login))].filter(isOld)
    const asked = new Map(Object.entries(known))
    for (const login of wanted.slice(0, mostAsked)) {
      const may = yield* forge.access(login).pipe(
        Effect.map(isWriter),
        Effect.catchIf(
          ({ kind }) => kind !== "rate_limited" && kind !== "unauthenticated",
          // A forge that fails for a moment is asked again at the next look.
          ({ kind }) => Effect.succeed(kind === "unavailable" ? undefined : null)
        )
      )
      if (may === undefined) asked.delete(login)
      else asked.set(login, { may, atMs: nowMs })
    }
    const newest = [...asked].sort(([, one], [, other]) => other.atMs - one.atMs)
    return {
      writers: Object.fromEntries(newest.slice(0, mostKnown)),
      isAsking: wanted.length > mostAsked && wanted.length <= mostKnown
    }
  })
})
