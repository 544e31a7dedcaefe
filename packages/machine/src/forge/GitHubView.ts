import { type OddElement, readEach } from "@reins/base/base/ForeignList"
import { adorns } from "@reins/base/base/ForeignText"
import { Effect, Schema } from "effect"
import { bodyOf, CommitSha, ForgeLogin, loginOf, nobody, orNull, Path, Time, WebPage } from "./ForeignParts.js"
import { type Ask, decodeAnswer, type ForgeError } from "./Forge.js"
import type { ForgeCall } from "./ForgeCalls.js"
import type { RemoteAuthor, RemoteReview, RemoteStanding, RemoteThread, ViewMemory } from "./ForgeView.js"
import { gitHubChecks } from "./GitHubChecks.js"
import { obstacleOf } from "./MergeableState.js"
import { allPages, eachOnce, type Get, headOfBranch, mostComments, viewBy } from "./Viewing.js"

const User = Schema.NullOr(Schema.Struct({ login: ForgeLogin, type: adorns(Schema.String) }))

const Review = Schema.Struct({
  id: Schema.Int,
  user: User,
  body: orNull(Schema.String),
  state: Schema.Literal("APPROVED", "CHANGES_REQUESTED", "COMMENTED", "DISMISSED", "PENDING"),
  commit_id: adorns(CommitSha),
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
  line: adorns(Schema.Int),
  original_line: adorns(Schema.Int),
  side: adorns(Schema.String),
  subject_type: adorns(Schema.String),
  in_reply_to_id: orNull(Schema.Int)
})

const Resolutions = Schema.Struct({
  data: Schema.Struct({
    repository: Schema.Struct({
      pullRequest: Schema.Struct({
        reviewThreads: Schema.Struct({
          nodes: Schema.Array(Schema.Unknown),
          pageInfo: Schema.Struct({ hasNextPage: Schema.Boolean, endCursor: Schema.NullOr(Schema.String) })
        })
      })
    })
  })
})

const Resolution = Schema.Struct({
  isResolved: Schema.Boolean,
  comments: Schema.Struct({ nodes: Schema.Array(Schema.Struct({ databaseId: Schema.Int })) })
})

/** GitHub's own answer has the shape of `PullRequest` and the fields that tell of conflicts. */
const Mergeability = Schema.Struct({
  mergeable: Schema.optionalWith(Schema.NullOr(Schema.Boolean), { default: () => null }),
  mergeable_state: Schema.optional(Schema.String)
})

/** Reads a pull request of GitHub. `standing` makes one of its answer. */
export const gitHubView =
  (
    ask: Ask,
    repository: string,
    standing: (answer: unknown) => Effect.Effect<Omit<RemoteStanding, "conflicts">, ForgeError>
  ) =>
  (number: number, memory: ViewMemory) => {
    const root = `/repos/${repository}`
    const checksOf = gitHubChecks(root)
    return viewBy(ask, memory, {
      request: Effect.fnUntraced(function* (get) {
        const answer = yield* get({ method: "GET", path: `${root}/pulls/${number}` })
        const { mergeable, mergeable_state } = yield* decodeAnswer(Mergeability)(answer)
        // Null says that GitHub computes it.
        const conflicts =
          mergeable === null ? "unknown" : mergeable || mergeable_state !== "dirty" ? "none" : "conflicts"
        const obstacle = obstacleOf(mergeable, mergeable_state)
        return { ...(yield* standing(answer)), conflicts, ...(obstacle && { obstacle }) }
      }),
      checks: checksOf,
      baseChecks: Effect.fnUntraced(function* (get, base) {
        return yield* checksOf(get, yield* headOfBranch(get, `${root}/branches/${encodeURIComponent(base)}`))
      }),
      reviews: Effect.fnUntraced(function* (get) {
        const read = yield* allPages(get.page, {
          path: (page) => `${root}/pulls/${number}/reviews?per_page=100&page=${page}`,
          size: 100,
          most: mostComments,
          schema: Review
        })
        return { ...read, value: read.value.flatMap(reviewOf) }
      }),
      threads: Effect.fnUntraced(function* (get) {
        const lines = yield* allPages(get.page, {
          path: (page) => `${root}/pulls/${number}/comments?per_page=100&page=${page}`,
          size: 100,
          most: mostComments,
          schema: LineComment
        })
        const talk = yield* allPages(get.page, {
          path: (page) => `${root}/issues/${number}/comments?per_page=100&page=${page}`,
          size: 100,
          most: mostComments,
          schema: Talk
        })
        const resolved = lines.value.length === 0 ? none : yield* resolvedOf(get, repository, number)
        return {
          value: [...threadsOf(lines.value, resolved.value), ...eachOnce(talk.value).map(talkOf)],
          complete: lines.complete && talk.complete && lines.value.length + talk.value.length <= mostComments,
          odd: [...lines.odd, ...talk.odd, ...resolved.odd]
        }
      })
    })
  }

const none: { readonly value: ReadonlySet<number>; readonly odd: ReadonlyArray<OddElement> } = {
  value: new Set(),
  odd: []
}

const authorOf = (user: typeof User.Type): RemoteAuthor =>
  user === null ? nobody : { login: loginOf(user.login), isBot: user.type === "Bot" || user.login.endsWith("[bot]") }

const reviewStates = {
  APPROVED: "approved",
  CHANGES_REQUESTED: "changes_requested",
  COMMENTED: "commented",
  DISMISSED: "dismissed",
  // One that is still being written is shown to its author alone, and is none.
  PENDING: undefined
} as const

const reviewOf = (review: typeof Review.Type): ReadonlyArray<RemoteReview> => {
  const state = reviewStates[review.state]
  if (state === undefined) return []
  return [
    {
      forgeId: String(review.id),
      author: authorOf(review.user),
      state,
      official: null,
      headSha: review.commit_id ?? undefined,
      body: bodyOf(review.body),
      at: review.submitted_at,
      url: review.html_url
    }
  ]
}

const threadsOf = (
  comments: ReadonlyArray<typeof LineComment.Type>,
  resolved: ReadonlySet<number>
): ReadonlyArray<RemoteThread> => {
  const byRoot = new Map<number, Array<typeof LineComment.Type>>()
  for (const comment of [...comments].sort((one, other) => one.id - other.id)) {
    const root = comment.in_reply_to_id ?? comment.id
    byRoot.set(root, [...(byRoot.get(root) ?? []), comment])
  }
  return [...byRoot].flatMap(
    ([root, [first, ...others]]): ReadonlyArray<RemoteThread> =>
      first === undefined
        ? []
        : [
            {
              forgeId: String(root),
              path: first.path,
              line: first.line ?? first.original_line,
              side: isOfFile(first) ? null : first.side === "LEFT" ? "old" : "new",
              outdated: first.line === null && !isOfFile(first),
              resolved: [first, ...others].some(({ id }) => resolved.has(id)),
              comments: [first, ...others].map(commentOf)
            }
          ]
  )
}

/** A comment on a whole file has no line, and is about each commit that has the file. */
const isOfFile = ({ subject_type }: typeof LineComment.Type): boolean => subject_type === "file"

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
  comments: [{ ...commentOf(comment), forgeId: `talk:${comment.id}` }]
})

const resolutionQuery =
  "query($owner:String!,$name:String!,$number:Int!,$after:String){repository(owner:$owner,name:$name){pullRequest(number:$number)" +
  "{reviewThreads(first:100,after:$after){nodes{isResolved comments(first:1){nodes{databaseId}}} pageInfo{hasNextPage endCursor}}}}}"

/** The first comments of the threads that are resolved, which GitHub tells through GraphQL alone. */
const resolvedOf = Effect.fnUntraced(function* (get: Get, repository: string, number: number) {
  const [owner, name] = repository.split("/")
  const found: Array<unknown> = []
  for (let after: string | null = null, page = 0; page * 100 < mostComments; page++) {
    const call: ForgeCall = {
      method: "POST",
      path: "",
      graphql: true,
      body: { query: resolutionQuery, variables: { owner, name, number, after } }
    }
    const { nodes, pageInfo } = (yield* decodeAnswer(Resolutions)(yield* get(call))).data.repository.pullRequest
      .reviewThreads
    found.push(...nodes)
    if (!pageInfo.hasNextPage) break
    after = pageInfo.endCursor
  }
  const { items, odd } = readEach(Resolution)(found)
  const resolved = items.filter(({ isResolved }) => isResolved)
  return { value: new Set(resolved.flatMap(({ comments }) => comments.nodes.map(({ databaseId }) => databaseId))), odd }
})
