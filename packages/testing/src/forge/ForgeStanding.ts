import type { Answer, Canned } from "./ForgeServer.js"

/** A run or a status of a commit, as the server holds it. */
export interface HeldCheck {
  readonly id: number
  readonly head: string
  readonly name: string
  /** A status of GitHub is no run. The others have statuses alone. */
  readonly system: "run" | "status"
  /** `waiting`: for the approval of a person. */
  state: "pending" | "passed" | "failed" | "cancelled" | "skipped" | "waiting"
  readonly optional: boolean
  /** The ref of the pipeline on GitLab. */
  readonly startedAt: string
  log: string
}

export interface HeldReview {
  readonly id: number
  readonly author: string
  readonly pull: number
  readonly state: "approved" | "changes_requested" | "commented"
  readonly head: string
  readonly body: string
  dismissed: boolean
}

export interface HeldComment {
  readonly id: number
  readonly pull: number
  readonly author: string
  readonly isBot: boolean
  body: string
  /** A line comment has a place. */
  readonly place: { readonly path: string; readonly line: number; readonly side: "new" | "old" } | undefined
  /** The first comment of its thread. */
  readonly replyTo: number | undefined
  readonly head: string
  outdated: boolean
  resolved: boolean
}

/** The things of a forge that go wrong at times. */
export interface Oddities {
  /** The head that merge requests are said to have, as after a push that the forge has not looked at yet. */
  staleHead: string | undefined
  /** The forge has not computed yet whether it can merge. */
  computing: boolean
  /** `by_git`: the forge merges the branches itself to find out. */
  conflicts: boolean | "by_git"
  /** The paths that it refuses with 403, by a part of them. */
  forbidden: string | undefined
  /** The answer to every call, as of a forge that has lost the repository or takes the token no more. */
  always: Canned | undefined
  /** Branches are shown without their commit. */
  headless: boolean
  /** Paths with this part answer 503, as behind a proxy whose forge is away. */
  failing: string | undefined
  /** The pipeline of a merged result, whose jobs are on a commit of their own. GitLab alone has it. */
  mergedResult: string | undefined
  /** A rule of the forge that merges do not meet. */
  refusesMerges: boolean
  /** The budget that each answer tells. */
  limit: { readonly limit: number; readonly remaining: number } | undefined
  /** It does not show its list of merge requests, although it shows each of them. */
  closedList: boolean
  /** The number of its calls of a hook for one thing, each with the same id. */
  hooks: "once" | "twice" | "25 times" | "never"
}

export interface Held {
  readonly checks: ReadonlyArray<HeldCheck>
  readonly reviews: ReadonlyArray<HeldReview>
  readonly comments: ReadonlyArray<HeldComment>
  readonly odd: Oddities
}

/** Answers a read that is about the standing of a merge request; undefined for any other path. `rest` is the path below the repository. */
export type StandingRoute = (held: Held, rest: string, url: URL, body: string) => Answer | undefined

const at = "2026-01-01T00:00:00Z"

const paged = <A>(url: URL, size: number, items: ReadonlyArray<A>): ReadonlyArray<A> => {
  const per = Math.min(size, Number(url.searchParams.get("per_page") ?? url.searchParams.get("limit") ?? size))
  const page = Number(url.searchParams.get("page") ?? 1)
  return items.slice((page - 1) * per, page * per)
}

const ok = (body: unknown): Answer => ({ status: 200, body })

const matched = (rest: string, pattern: RegExp): string | undefined => pattern.exec(rest)?.[1]

const githubRun = (check: HeldCheck) => ({
  id: check.id,
  name: check.name,
  head_sha: check.head,
  status: check.state === "pending" ? "in_progress" : "completed",
  conclusion: {
    pending: null,
    passed: "success",
    failed: "failure",
    cancelled: "cancelled",
    skipped: "skipped",
    waiting: "action_required"
  }[check.state],
  started_at: check.startedAt,
  completed_at: check.state === "pending" ? null : check.startedAt,
  html_url: `https://github.example/runs/${check.id}`,
  app: { slug: "github-actions" }
})

const user = ({ author, isBot = false }: { readonly author: string; readonly isBot?: boolean }) => ({
  login: author,
  type: isBot ? "Bot" : "User"
})

export const githubStanding: StandingRoute = (held, rest, url, body) => {
  const runsOf = matched(rest, /^\/commits\/(\w+)\/check-runs$/)
  if (runsOf !== undefined) {
    const runs = held.checks.filter(({ head, system }) => system === "run" && head === runsOf)
    return ok({ total_count: runs.length, check_runs: paged(url, 100, runs).map(githubRun) })
  }
  const statusesOf = matched(rest, /^\/commits\/(\w+)\/status$/)
  if (statusesOf !== undefined) {
    const statuses = held.checks.filter(({ head, system }) => system === "status" && head === statusesOf)
    return ok({
      // GitHub says so of a commit without any.
      state: statuses.some(({ state }) => state === "failed")
        ? "failure"
        : statuses.length === 0
          ? "pending"
          : "success",
      statuses: paged(url, 100, statuses).map((check) => ({
        id: check.id,
        context: check.name,
        state: {
          pending: "pending",
          passed: "success",
          failed: "failure",
          cancelled: "error",
          skipped: "success",
          waiting: "pending"
        }[check.state],
        target_url: null,
        created_at: check.startedAt,
        updated_at: check.startedAt
      }))
    })
  }
  if (/^\/pulls\/\d+\/reviews$/.test(rest)) {
    return ok(
      paged(url, 100, held.reviews).map((review) => ({
        id: review.id,
        user: user(review),
        body: review.body,
        state: review.dismissed ? "DISMISSED" : review.state.toUpperCase(),
        commit_id: review.head,
        submitted_at: at,
        html_url: `https://github.example/reviews/${review.id}`
      }))
    )
  }
  const commentsOf = matched(rest, /^\/(pulls|issues)\/\d+\/comments$/)
  if (commentsOf !== undefined) {
    const wanted = held.comments.filter(({ place }) => (place !== undefined) === (commentsOf === "pulls"))
    return ok(
      paged(url, 100, wanted).map((comment) => ({
        id: comment.id,
        user: user(comment),
        body: comment.body,
        created_at: at,
        updated_at: at,
        html_url: `https://github.example/comments/${comment.id}`,
        ...(comment.place !== undefined && {
          path: comment.place.path,
          // GitHub leaves the line of an outdated one out.
          ...(!comment.outdated && { line: comment.place.line }),
          original_line: comment.place.line,
          side: comment.place.side === "old" ? "LEFT" : "RIGHT",
          commit_id: comment.head,
          original_commit_id: comment.head
        }),
        ...(comment.replyTo !== undefined && { in_reply_to_id: comment.replyTo })
      }))
    )
  }
  if (rest === "/graphql" && body.includes("reviewThreads")) {
    const roots = held.comments.filter(({ place, replyTo }) => place !== undefined && replyTo === undefined)
    const nodes = roots.map(({ id, resolved }) => ({
      isResolved: resolved,
      comments: { nodes: [{ databaseId: id }] }
    }))
    return ok({
      data: {
        repository: {
          pullRequest: { reviewThreads: { nodes, pageInfo: { hasNextPage: false, endCursor: null } } }
        }
      }
    })
  }
  return undefined
}

const gitlabStates = {
  pending: "running",
  passed: "success",
  failed: "failed",
  cancelled: "canceled",
  skipped: "skipped",
  waiting: "manual"
}

export const gitlabStanding: StandingRoute = (held, rest, url) => {
  const statusesOf = matched(rest, /^\/repository\/commits\/(\w+)\/statuses$/)
  if (statusesOf !== undefined) {
    const statuses = held.checks.filter(({ head }) => head === statusesOf)
    return ok(
      paged(url, 100, statuses).map((check) => ({
        id: check.id,
        sha: check.head,
        ref: "work",
        name: check.name,
        status: gitlabStates[check.state],
        allow_failure: check.optional,
        created_at: check.startedAt,
        started_at: check.startedAt,
        finished_at: check.state === "pending" ? null : check.startedAt,
        target_url: `https://gitlab.example/-/jobs/${check.id}`,
        author: { id: 7, username: "ann" }
      }))
    )
  }
  if (/^\/merge_requests\/\d+\/approvals$/.test(rest)) {
    const approving = held.reviews.filter(({ dismissed, state }) => state === "approved" && !dismissed)
    return ok({
      approved: approving.length > 0,
      approved_by: approving.map(({ author }) => ({ user: { username: author } }))
    })
  }
  if (/^\/merge_requests\/\d+\/reviewers$/.test(rest)) {
    return ok(
      paged(
        url,
        100,
        held.reviews.map(({ author, state }) => ({
          user: { username: author },
          state: { approved: "approved", changes_requested: "requested_changes", commented: "reviewed" }[state],
          created_at: at
        }))
      )
    )
  }
  if (/^\/merge_requests\/\d+\/discussions$/.test(rest)) {
    const roots = held.comments.filter(({ replyTo }) => replyTo === undefined)
    const noteOf = (comment: HeldComment, { place, resolved }: HeldComment) => ({
      id: comment.id,
      type: place === undefined ? null : "DiffNote",
      body: comment.body,
      author: { id: 8, username: comment.isBot ? `project_3_bot_${comment.id}` : comment.author },
      created_at: at,
      updated_at: at,
      system: false,
      internal: false,
      resolvable: place !== undefined,
      ...(place !== undefined && {
        resolved,
        position: {
          head_sha: comment.head,
          old_path: place.path,
          new_path: place.path,
          old_line: place.side === "old" ? place.line : null,
          new_line: place.side === "new" ? place.line : null
        }
      })
    })
    const system = {
      id: "system",
      individual_note: true,
      notes: [
        {
          id: 1,
          type: null,
          body: "added 1 commit",
          author: { id: 7, username: "ann" },
          created_at: at,
          updated_at: at,
          system: true,
          internal: false,
          resolvable: false
        }
      ]
    }
    const discussions = roots.map((root) => ({
      id: root.id.toString(16).padStart(40, "0"),
      individual_note: root.place === undefined,
      notes: [root, ...held.comments.filter(({ replyTo }) => replyTo === root.id)].map((comment) =>
        noteOf(comment, root)
      )
    }))
    return ok(paged(url, 100, [system, ...discussions]))
  }
  return undefined
}

export const giteaStanding: StandingRoute = (held, rest, url) => {
  const statusesOf = matched(rest, /^\/commits\/(\w+)\/statuses$/)
  if (statusesOf !== undefined) {
    const statuses = held.checks.filter(({ head }) => head === statusesOf)
    return ok(
      paged(url, 50, [...statuses].reverse()).map((check) => ({
        id: check.id,
        context: check.name,
        status: {
          pending: "pending",
          passed: "success",
          failed: "failure",
          cancelled: "error",
          skipped: "skipped",
          waiting: "warning"
        }[check.state],
        target_url: `https://gitea.example/acme/shop/actions/runs/1/jobs/${check.id}`,
        created_at: check.startedAt,
        updated_at: check.startedAt
      }))
    )
  }
  const lineComments = held.comments.filter(({ place }) => place !== undefined)
  // A review of its own stands for each thread.
  const roots = lineComments.filter(({ replyTo }) => replyTo === undefined)
  if (/^\/pulls\/\d+\/reviews$/.test(rest)) {
    const given = held.reviews.map((review) => ({
      id: review.id,
      user: user(review),
      body: review.body,
      state: { approved: "APPROVED", changes_requested: "REQUEST_CHANGES", commented: "COMMENT" }[review.state],
      commit_id: review.head,
      stale: false,
      dismissed: review.dismissed,
      official: true,
      comments_count: 0,
      submitted_at: at,
      html_url: `https://gitea.example/reviews/${review.id}`
    }))
    const ofLines = roots.map((root) => ({
      id: 100_000 + root.id,
      user: user(root),
      body: "",
      state: "COMMENT",
      commit_id: root.head,
      stale: false,
      dismissed: false,
      official: false,
      comments_count: 1 + lineComments.filter(({ replyTo }) => replyTo === root.id).length,
      submitted_at: at,
      html_url: ""
    }))
    return ok(paged(url, 50, [...given, ...ofLines]))
  }
  const linesOf = matched(rest, /^\/pulls\/\d+\/reviews\/(\d+)\/comments$/)
  if (linesOf !== undefined) {
    const root = roots.find(({ id }) => 100_000 + id === Number(linesOf))
    const thread = lineComments.filter(({ id, replyTo }) => id === root?.id || replyTo === root?.id)
    return ok(
      thread.map((comment) => ({
        id: comment.id,
        user: user(comment),
        body: comment.body,
        path: comment.place?.path,
        commit_id: comment.head,
        position: root?.place?.side === "new" ? root.place.line : 0,
        original_position: root?.place?.side === "old" ? root.place.line : 0,
        resolver: root?.resolved === true ? { login: "ann" } : null,
        created_at: at,
        updated_at: at,
        html_url: ""
      }))
    )
  }
  if (/^\/issues\/\d+\/comments$/.test(rest)) {
    return ok(
      held.comments
        .filter(({ place }) => place === undefined)
        .map((comment) => ({ id: comment.id, user: user(comment), body: comment.body, created_at: at, html_url: "" }))
    )
  }
  return undefined
}
