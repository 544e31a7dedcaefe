import { type OddElement, readEach } from "@reins/base/base/ForeignList"
import { adorns } from "@reins/base/base/ForeignText"
import { Effect, Schema } from "effect"
import { newestRuns, textOfParts } from "./CheckIdentity.js"
import {
  bodyOf,
  CommitSha,
  Context,
  checkName,
  ForgeLogin,
  loginOf,
  nobody,
  orNull,
  Path,
  Time,
  WebPage
} from "./ForeignParts.js"
import { type Ask, decodeAnswer, type ForgeError } from "./Forge.js"
import type {
  CheckState,
  RemoteAuthor,
  RemoteCheck,
  RemoteReview,
  RemoteStanding,
  RemoteThread,
  ViewMemory
} from "./ForgeView.js"
import { allPages, eachOnce, type Get, headOfBranch, listIn, mostChecks, mostComments, viewBy } from "./Viewing.js"

const Mergeability = Schema.Struct({ mergeable: Schema.optionalWith(Schema.Boolean, { default: () => false }) })

const Status = Schema.Struct({
  id: Schema.Int,
  context: Context,
  status: Schema.String,
  target_url: WebPage,
  created_at: Time,
  updated_at: Time
})

const User = orNull(Schema.Struct({ login: ForgeLogin }))

const Review = Schema.Struct({
  id: Schema.Int,
  user: User,
  body: orNull(Schema.String),
  state: Schema.Literal("APPROVED", "REQUEST_CHANGES", "COMMENT", "PENDING", "REQUEST_REVIEW", ""),
  commit_id: adorns(CommitSha),
  official: orNull(Schema.Boolean),
  dismissed: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  comments_count: Schema.optionalWith(Schema.Int, { default: () => 0 }),
  submitted_at: Time,
  html_url: WebPage
})

const Talk = Schema.Struct({
  id: Schema.Int,
  user: User,
  body: orNull(Schema.String),
  created_at: Time,
  html_url: WebPage
})

const LineComment = Schema.Struct({
  ...Talk.fields,
  path: Path,
  commit_id: adorns(CommitSha),
  position: orNull(Schema.Int),
  original_position: orNull(Schema.Int),
  resolver: User
})

/** Gitea and Forgejo give at most 50 to a page. An operator may let them give fewer, so a page with a few items is not taken for the last one. */
const perPage = 50
const size = 10

/** Reads a pull request of Gitea or Forgejo. `standing` makes one of its answer. */
export const giteaView =
  (
    ask: Ask,
    repository: string,
    standing: (answer: unknown) => Effect.Effect<Omit<RemoteStanding, "conflicts">, ForgeError>
  ) =>
  (number: number, memory: ViewMemory) => {
    const root = `/repos/${repository}`
    const pages = (path: string) => (page: number) => `${root}/${path}?limit=${perPage}&page=${page}`
    const reviewPages = { path: pages(`pulls/${number}/reviews`), size, most: mostComments, schema: Review }
    const checksOf = Effect.fnUntraced(function* (get: Get, headSha: string) {
      const read = yield* allPages(get.page, {
        path: pages(`commits/${headSha}/statuses`),
        size,
        most: mostChecks,
        schema: Status
      })
      const newest = newestRuns(read.value.map(checkOf), ({ check }) => check.key)
      return { ...read, value: newest.map(({ check }) => check) }
    })
    return viewBy(ask, memory, {
      request: Effect.fnUntraced(function* (get) {
        const answer = yield* get({ method: "GET", path: `${root}/pulls/${number}` })
        const { mergeable } = yield* decodeAnswer(Mergeability)(answer)
        const request = yield* standing(answer)
        // It is false for a draft too, and while Gitea computes.
        return { ...request, conflicts: mergeable ? "none" : request.draft ? "unknown" : "suspected" }
      }),
      checks: checksOf,
      baseChecks: Effect.fnUntraced(function* (get, base) {
        return yield* checksOf(get, yield* headOfBranch(get, `${root}/branches/${encodeURIComponent(base)}`))
      }),
      reviews: Effect.fnUntraced(function* (get) {
        const read = yield* allPages(get.page, reviewPages)
        return { ...read, value: read.value.flatMap(reviewOf) }
      }),
      threads: Effect.fnUntraced(function* (get, headSha) {
        const reviews = yield* allPages(get.page, reviewPages)
        const lines: Array<typeof LineComment.Type> = []
        const odd: Array<OddElement> = [...reviews.odd]
        for (const { comments_count, id } of reviews.value) {
          if (comments_count === 0 || lines.length > mostComments) continue
          const answer = yield* get({ method: "GET", path: `${root}/pulls/${number}/reviews/${id}/comments` })
          const found = readEach(LineComment)(yield* listIn(answer))
          lines.push(...found.items)
          odd.push(...found.odd)
        }
        // This list has no pages.
        const answer = yield* get({ method: "GET", path: `${root}/issues/${number}/comments` })
        const talk = readEach(Talk)(yield* listIn(answer))
        return {
          value: [...threadsOf(eachOnce(lines), headSha), ...eachOnce(talk.items).slice(0, mostComments).map(talkOf)],
          complete: reviews.complete && lines.length + talk.items.length <= mostComments,
          odd: [...odd, ...talk.odd]
        }
      })
    })
  }

const authorOf = (user: { readonly login: string } | null): RemoteAuthor =>
  user === null ? nobody : { login: loginOf(user.login), isBot: false }

// A word that is not known is no success. A plain object would know words such as `constructor`.
const states: ReadonlyMap<string, CheckState> = new Map([
  ["pending", "pending"],
  ["success", "passing"],
  ["skipped", "skipped"],
  // It is no failure, and a person has to say whether it matters.
  ["warning", "action_required"]
])

/** A context of Gitea's own CI ends in the event that began the job, as in `test / build (pull_request)`. */
const eventIn = (context: string): string | null => {
  const from = context.lastIndexOf(" (")
  return from > 0 && context.endsWith(")") ? context.slice(from + 2, -1) : null
}

const checkOf = (status: typeof Status.Type) => {
  const { context, created_at: startedAt, id } = status
  const event = eventIn(context)
  const check: RemoteCheck = {
    key: `status:${textOfParts([context])}`,
    run: String(id),
    name: checkName(context),
    identity: {
      context,
      app: null,
      source: textOfParts([event === null ? context : context.slice(0, -event.length - 3)]),
      trigger: event
    },
    state: states.get(status.status) ?? "failing",
    optional: false,
    startedAt,
    endedAt: status.status === "pending" ? null : status.updated_at,
    url: status.target_url
  }
  // Gitea numbers the statuses of a commit as they come.
  return { check, id, round: 0, startedAt: null }
}

const reviewStates = {
  APPROVED: "approved",
  REQUEST_CHANGES: "changes_requested",
  COMMENT: "commented",
  // One that is being written, or was only asked for, is none.
  PENDING: undefined,
  REQUEST_REVIEW: undefined,
  "": undefined
} as const

const reviewOf = (review: typeof Review.Type): ReadonlyArray<RemoteReview> => {
  const state = reviewStates[review.state]
  if (state === undefined) return []
  return [
    {
      forgeId: String(review.id),
      author: authorOf(review.user),
      state: review.dismissed ? "dismissed" : state,
      official: review.official,
      headSha: review.commit_id ?? undefined,
      body: bodyOf(review.body),
      at: review.submitted_at,
      url: review.html_url
    }
  ]
}

/** Comments about one line of a file are a thread. */
const threadsOf = (comments: ReadonlyArray<typeof LineComment.Type>, headSha: string): ReadonlyArray<RemoteThread> => {
  const byPlace = new Map<string, Array<typeof LineComment.Type>>()
  for (const comment of [...comments].sort((one, other) => one.id - other.id)) {
    const place = JSON.stringify([comment.path, comment.position, comment.original_position])
    byPlace.set(place, [...(byPlace.get(place) ?? []), comment])
  }
  return [...byPlace.values()].flatMap(([first, ...others]): ReadonlyArray<RemoteThread> => {
    if (first === undefined) return []
    const isNew = (first.position ?? 0) > 0
    return [
      {
        forgeId: `line:${first.id}`,
        path: first.path,
        line: isNew ? first.position : first.original_position,
        side: isNew ? "new" : "old",
        outdated: first.commit_id !== null && first.commit_id !== headSha,
        resolved: [first, ...others].some(({ resolver }) => resolver !== null),
        comments: [first, ...others].map(commentOf)
      }
    ]
  })
}

const commentOf = (comment: typeof Talk.Type) => ({
  forgeId: String(comment.id),
  author: authorOf(comment.user),
  body: bodyOf(comment.body),
  at: comment.created_at,
  url: comment.html_url
})

const talkOf = (comment: typeof Talk.Type): RemoteThread => ({
  forgeId: `talk:${comment.id}`,
  path: null,
  line: null,
  side: null,
  outdated: false,
  resolved: null,
  comments: [commentOf(comment)]
})
