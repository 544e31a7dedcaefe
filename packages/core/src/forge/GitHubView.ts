import { Effect, Schema } from "effect"
import { type Ask, decodeAnswer, type ForgeError } from "./Forge.js"
import type { ForgeCall } from "./ForgeCalls.js"
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

const Time = Schema.optionalWith(Schema.NullOr(Schema.String), { default: () => null })

const Run = Schema.Struct({
  id: Schema.Int,
  name: Schema.String,
  status: Schema.String,
  conclusion: Schema.NullOr(Schema.String),
  started_at: Time,
  completed_at: Time,
  html_url: Time,
  app: Schema.optionalWith(Schema.NullOr(Schema.Struct({ slug: Schema.optional(Schema.String) })), {
    default: () => null
  })
})

const Status = Schema.Struct({
  id: Schema.Int,
  context: Schema.String,
  state: Schema.String,
  target_url: Time,
  created_at: Time,
  updated_at: Time
})

const User = Schema.NullOr(Schema.Struct({ login: Schema.String, type: Schema.optional(Schema.String) }))

const Review = Schema.Struct({
  id: Schema.Int,
  user: User,
  body: Schema.NullOr(Schema.String),
  state: Schema.String,
  commit_id: Schema.NullOr(Schema.String),
  submitted_at: Time,
  html_url: Time
})

const LineComment = Schema.Struct({
  id: Schema.Int,
  user: User,
  body: Schema.String,
  path: Schema.String,
  line: Schema.optionalWith(Schema.NullOr(Schema.Int), { default: () => null }),
  original_line: Schema.optionalWith(Schema.NullOr(Schema.Int), { default: () => null }),
  side: Schema.optionalWith(Schema.NullOr(Schema.String), { default: () => null }),
  in_reply_to_id: Schema.optional(Schema.Int),
  created_at: Schema.String,
  html_url: Time
})

const Talk = Schema.Struct({
  id: Schema.Int,
  user: User,
  body: Schema.optionalWith(Schema.NullOr(Schema.String), { default: () => null }),
  created_at: Schema.String,
  html_url: Time
})

const Resolutions = Schema.Struct({
  data: Schema.Struct({
    repository: Schema.Struct({
      pullRequest: Schema.Struct({
        reviewThreads: Schema.Struct({
          nodes: Schema.Array(
            Schema.Struct({
              isResolved: Schema.Boolean,
              comments: Schema.Struct({ nodes: Schema.Array(Schema.Struct({ databaseId: Schema.Int })) })
            })
          ),
          pageInfo: Schema.Struct({ hasNextPage: Schema.Boolean, endCursor: Schema.NullOr(Schema.String) })
        })
      })
    })
  })
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
    const checksOf = Effect.fnUntraced(function* (get: Get, headSha: string) {
      const runs = yield* allPages(get, {
        path: (page) => `${root}/commits/${headSha}/check-runs?filter=latest&per_page=100&page=${page}`,
        size: 100,
        most: mostChecks,
        schema: Run,
        itemsOf: "check_runs"
      })
      const statuses = yield* allPages(get, {
        path: (page) => `${root}/commits/${headSha}/status?per_page=100&page=${page}`,
        size: 100,
        most: mostChecks,
        schema: Status,
        itemsOf: "statuses"
      })
      // A run that was begun again is beside the one before it.
      const inOrder = [...runs.value].sort(
        (one, other) => compare(one.started_at, other.started_at) || one.id - other.id
      )
      return {
        value: [
          ...newestOf(inOrder.map(runOf), ({ key }) => key),
          ...newestOf(statuses.value.map(statusOf), ({ key }) => key)
        ],
        complete: runs.complete && statuses.complete
      }
    })
    return viewBy(ask, memory, {
      request: Effect.fnUntraced(function* (get) {
        const answer = yield* get({ method: "GET", path: `${root}/pulls/${number}` })
        const { mergeable, mergeable_state } = yield* decodeAnswer(Mergeability)(answer)
        // Null says that GitHub computes it.
        const conflicts =
          mergeable === null ? "unknown" : mergeable || mergeable_state !== "dirty" ? "none" : "conflicts"
        return { ...(yield* standing(answer)), conflicts }
      }),
      checks: checksOf,
      baseChecks: Effect.fnUntraced(function* (get, base) {
        return yield* checksOf(get, yield* headOfBranch(get, `${root}/branches/${encodeURIComponent(base)}`))
      }),
      reviews: Effect.fnUntraced(function* (get) {
        const { complete, value } = yield* allPages(get, {
          path: (page) => `${root}/pulls/${number}/reviews?per_page=100&page=${page}`,
          size: 100,
          most: mostComments,
          schema: Review
        })
        return { value: value.flatMap(reviewOf), complete }
      }),
      threads: Effect.fnUntraced(function* (get) {
        const lines = yield* allPages(get, {
          path: (page) => `${root}/pulls/${number}/comments?per_page=100&page=${page}`,
          size: 100,
          most: mostComments,
          schema: LineComment
        })
        const talk = yield* allPages(get, {
          path: (page) => `${root}/issues/${number}/comments?per_page=100&page=${page}`,
          size: 100,
          most: mostComments,
          schema: Talk
        })
        const resolved = lines.value.length === 0 ? new Set<number>() : yield* resolvedOf(get, repository, number)
        return {
          value: [...threadsOf(lines.value, resolved), ...talk.value.map(talkOf)],
          complete: lines.complete && talk.complete && lines.value.length + talk.value.length <= mostComments
        }
      })
    })
  }

const compare = (one: string | null, other: string | null): number => {
  const [left, right] = [one ?? "", other ?? ""]
  return left < right ? -1 : left > right ? 1 : 0
}

const authorOf = (user: typeof User.Type): RemoteAuthor =>
  user === null
    ? { login: "ghost", isBot: false }
    : { login: user.login, isBot: user.type === "Bot" || user.login.endsWith("[bot]") }

const conclusions: Readonly<Record<string, CheckState>> = {
  success: "passing",
  neutral: "skipped",
  skipped: "skipped",
  cancelled: "cancelled",
  stale: "cancelled",
  action_required: "action_required"
}

const runOf = (run: typeof Run.Type): RemoteCheck => ({
  key: `run:${run.app?.slug ?? ""}:${run.name}`,
  run: String(run.id),
  name: run.name,
  // A conclusion that is not known is no success.
  state: run.status !== "completed" ? "pending" : (conclusions[run.conclusion ?? ""] ?? "failing"),
  optional: false,
  startedAt: run.started_at,
  endedAt: run.completed_at,
  url: run.html_url
})

const statusOf = (status: typeof Status.Type): RemoteCheck => ({
  key: `status:${status.context}`,
  run: String(status.id),
  name: status.context,
  state: status.state === "success" ? "passing" : status.state === "pending" ? "pending" : "failing",
  optional: false,
  startedAt: status.created_at,
  endedAt: status.state === "pending" ? null : status.updated_at,
  url: status.target_url
})

const reviewStates: Readonly<Record<string, RemoteReview["state"]>> = {
  APPROVED: "approved",
  CHANGES_REQUESTED: "changes_requested",
  COMMENTED: "commented",
  DISMISSED: "dismissed"
}

/** One that is still being written is shown to its author alone, and is none. */
const reviewOf = (review: typeof Review.Type): ReadonlyArray<RemoteReview> => {
  const state = reviewStates[review.state]
  if (state === undefined) return []
  return [
    {
      forgeId: String(review.id),
      author: authorOf(review.user),
      state,
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
              side: first.side === "LEFT" ? "old" : "new",
              outdated: first.line === null,
              resolved: [first, ...others].some(({ id }) => resolved.has(id)),
              comments: [first, ...others].map(commentOf)
            }
          ]
  )
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
  comments: [{ ...commentOf(comment), forgeId: `talk:${comment.id}` }]
})

const resolutionQuery =
  "query($owner:String!,$name:String!,$number:Int!,$after:String){repository(owner:$owner,name:$name){pullRequest(number:$number)" +
  "{reviewThreads(first:100,after:$after){nodes{isResolved comments(first:1){nodes{databaseId}}} pageInfo{hasNextPage endCursor}}}}}"

/** The first comments of the threads that are resolved, which GitHub tells through GraphQL alone. */
const resolvedOf = Effect.fnUntraced(function* (get: Get, repository: string, number: number) {
  const [owner, name] = repository.split("/")
  const resolved = new Set<number>()
  for (let after: string | null = null, page = 0; page * 100 < mostComments; page++) {
    const call: ForgeCall = {
      method: "POST",
      path: "",
      graphql: true,
      body: { query: resolutionQuery, variables: { owner, name, number, after } }
    }
    const { nodes, pageInfo } = (yield* decodeAnswer(Resolutions)(yield* get(call))).data.repository.pullRequest
      .reviewThreads
    for (const { comments, isResolved } of nodes)
      if (isResolved) for (const { databaseId } of comments.nodes) resolved.add(databaseId)
    if (!pageInfo.hasNextPage) return resolved
    after = pageInfo.endCursor
  }
  return resolved
})
