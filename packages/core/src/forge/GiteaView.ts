import { Effect, Schema } from "effect"
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
import { allPages, bodyOf, type Get, headOfBranch, mostChecks, mostComments, newestOf, viewBy } from "./Viewing.js"

const Optional = <A, I>(schema: Schema.Schema<A, I>) =>
  Schema.optionalWith(Schema.NullOr(schema), { default: () => null })

const Mergeability = Schema.Struct({ mergeable: Schema.optionalWith(Schema.Boolean, { default: () => false }) })

const Status = Schema.Struct({
  id: Schema.Int,
  context: Schema.String,
  status: Schema.String,
  target_url: Optional(Schema.String),
  created_at: Optional(Schema.String),
  updated_at: Optional(Schema.String)
})

const User = Optional(Schema.Struct({ login: Schema.String }))

const Review = Schema.Struct({
  id: Schema.Int,
  user: User,
  body: Optional(Schema.String),
  state: Schema.String,
  commit_id: Optional(Schema.String),
  dismissed: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  comments_count: Schema.optionalWith(Schema.Int, { default: () => 0 }),
  submitted_at: Optional(Schema.String),
  html_url: Optional(Schema.String)
})

const LineComment = Schema.Struct({
  id: Schema.Int,
  user: User,
  body: Optional(Schema.String),
  path: Schema.String,
  commit_id: Optional(Schema.String),
  position: Optional(Schema.Int),
  original_position: Optional(Schema.Int),
  resolver: User,
  created_at: Schema.String,
  html_url: Optional(Schema.String)
})

const Talk = Schema.Struct({
  id: Schema.Int,
  user: User,
  body: Optional(Schema.String),
  created_at: Schema.String,
  html_url: Optional(Schema.String)
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
      const { complete, value } = yield* allPages(get, {
        path: pages(`commits/${headSha}/statuses`),
        size,
        most: mostChecks,
        schema: Status
      })
      const inOrder = [...value].sort((one, other) => one.id - other.id)
      return { value: newestOf(inOrder.map(checkOf), ({ key }) => key), complete }
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
        const { complete, value } = yield* allPages(get, reviewPages)
        return { value: value.flatMap(reviewOf), complete }
      }),
      threads: Effect.fnUntraced(function* (get, headSha) {
        const reviews = yield* allPages(get, reviewPages)
        const comments: Array<typeof LineComment.Type> = []
        for (const { comments_count, id } of reviews.value) {
          if (comments_count === 0 || comments.length > mostComments) continue
          const answer = yield* get({ method: "GET", path: `${root}/pulls/${number}/reviews/${id}/comments` })
          comments.push(...(yield* decodeAnswer(Schema.Array(LineComment))(answer)))
        }
        // This list has no pages.
        const answer = yield* get({ method: "GET", path: `${root}/issues/${number}/comments` })
        const talk = yield* decodeAnswer(Schema.Array(Talk))(answer)
        return {
          value: [...threadsOf(comments, headSha), ...talk.slice(0, mostComments).map(talkOf)],
          complete: reviews.complete && comments.length + talk.length <= mostComments
        }
      })
    })
  }

const authorOf = (user: { readonly login: string } | null): RemoteAuthor => ({
  login: user?.login ?? "ghost",
  isBot: false
})

const states: Readonly<Record<string, CheckState>> = {
  pending: "pending",
  success: "passing",
  skipped: "skipped",
  // It is no failure, and a person has to say whether it matters.
  warning: "action_required"
}

const checkOf = (status: typeof Status.Type): RemoteCheck => ({
  key: `status:${status.context}`,
  run: String(status.id),
  name: status.context,
  state: states[status.status] ?? "failing",
  optional: false,
  startedAt: status.created_at,
  endedAt: status.status === "pending" ? null : status.updated_at,
  url: status.target_url === "" ? null : status.target_url
})

const reviewStates: Readonly<Record<string, RemoteReview["state"]>> = {
  APPROVED: "approved",
  REQUEST_CHANGES: "changes_requested",
  COMMENT: "commented"
}

/** One that is being written, or was only asked for, is none. */
const reviewOf = (review: typeof Review.Type): ReadonlyArray<RemoteReview> => {
  const state = reviewStates[review.state]
  if (state === undefined) return []
  return [
    {
      forgeId: String(review.id),
      author: authorOf(review.user),
      state: review.dismissed ? "dismissed" : state,
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
