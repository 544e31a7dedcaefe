import {
  at,
  type HeldCheck,
  type HeldComment,
  type HeldReview,
  latest,
  matched,
  ok,
  paged,
  type StandingRoute,
  suitesOf
} from "./ForgeStanding.js"
import { recordings } from "./Recorded.js"

const { answer, item } = recordings("github")

const repository = "/repos/{owner}/{repo}"

/** An account. One number belongs to one name. */
export const userOf = (login: string, isBot = false) => ({
  login,
  id: login === "ann" ? 7 : 1000 + [...login].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 1e6, 0),
  type: isBot ? "Bot" : "User",
  html_url: `https://github.example/${login}`
})

/** GitHub names the place of what was made. */
export const locationOf = (made: unknown): { readonly location?: string } => {
  const url = typeof made === "object" && made !== null ? Reflect.get(made, "url") : undefined
  return typeof url === "string" ? { location: url } : {}
}

const conclusions = {
  pending: null,
  passed: "success",
  failed: "failure",
  cancelled: "cancelled",
  skipped: "skipped",
  waiting: "action_required"
}

const statusOf = ({ state }: HeldCheck): string => (state === "pending" ? "in_progress" : "completed")

/** A run as an answer and a hook show it. */
export const checkRunOf = (check: HeldCheck) => ({
  id: check.id,
  name: check.name,
  head_sha: check.head,
  status: statusOf(check),
  conclusion: check.word ?? conclusions[check.state],
  started_at: check.startedAt,
  completed_at: check.state === "pending" ? null : check.startedAt,
  html_url: `https://github.example/runs/${check.id}`,
  check_suite: { id: check.suite },
  app: check.app,
  // GitHub names none for a fork.
  pull_requests: []
})

/** A run again of a job is one more attempt of its workflow. */
const attemptOf = (checks: ReadonlyArray<HeldCheck>, { name, suite }: HeldCheck): number =>
  checks.filter((check) => check.suite === suite && check.name === name).length

const workflowRunOf = (checks: ReadonlyArray<HeldCheck>) => (check: HeldCheck) =>
  item(
    `GET ${repository}/actions/runs`,
    {
      id: 50_000 + check.suite,
      name: `workflow ${check.workflow}`,
      path: `.github/workflows/${check.workflow}.yml`,
      workflow_id: check.workflow,
      event: check.event,
      status: statusOf(check),
      conclusion: conclusions[check.state],
      run_attempt: attemptOf(checks, check),
      check_suite_id: check.suite,
      head_sha: check.head
    },
    "workflow_runs"
  )

const statuses = {
  pending: "pending",
  passed: "success",
  failed: "failure",
  cancelled: "error",
  skipped: "success",
  waiting: "pending"
} as const

/** The word of GitHub for the state of a status. */
export const statusWord = ({ state, word }: Pick<HeldCheck, "state" | "word">): string => word ?? statuses[state]

const pathOfStatus = `GET ${repository}/commits/{ref}/status`

const statusItem = (check: HeldCheck) =>
  item(
    pathOfStatus,
    {
      id: check.id,
      context: check.name,
      state: statusWord(check),
      target_url: null,
      avatar_url: `https://avatars.githubusercontent.com/in/${check.app.id}?v=4`,
      created_at: check.startedAt,
      updated_at: check.startedAt
    },
    "statuses"
  )

const reviewOf = (review: HeldReview) =>
  item(`GET ${repository}/pulls/{pull_number}/reviews`, {
    id: review.id,
    user: userOf(review.author),
    body: review.body,
    state: review.dismissed ? "DISMISSED" : review.state.toUpperCase(),
    commit_id: review.head,
    submitted_at: at,
    html_url: `https://github.example/reviews/${review.id}`
  })

const talkFields = (comment: HeldComment) => ({
  id: comment.id,
  user: userOf(comment.author, comment.isBot),
  body: comment.body,
  created_at: at,
  updated_at: at,
  html_url: `https://github.example/comments/${comment.id}`
})

const lineFields = (comment: HeldComment) => {
  const line = comment.place?.line ?? null
  return {
    ...talkFields(comment),
    path: comment.place?.path,
    subject_type: line === null ? "file" : "line",
    // GitHub leaves the line of an outdated one out, and what is about lines with a comment on a whole file.
    line: comment.outdated || line === null ? undefined : line,
    original_line: line ?? undefined,
    side: line === null ? undefined : comment.place?.side === "old" ? "LEFT" : "RIGHT",
    start_line: undefined,
    original_start_line: undefined,
    start_side: undefined,
    commit_id: comment.head,
    original_commit_id: comment.head,
    in_reply_to_id: comment.replyTo
  }
}

/** The answer to a comment that was written. */
export const githubWritten = (comment: HeldComment): unknown =>
  comment.place === undefined
    ? answer(`POST ${repository}/issues/{issue_number}/comments`, talkFields(comment))
    : answer(`POST ${repository}/pulls/{pull_number}/comments/{comment_id}/replies`, lineFields(comment))

const githubThreads = (comments: ReadonlyArray<HeldComment>) => {
  const roots = comments.filter(({ place, replyTo }) => place !== undefined && replyTo === undefined)
  const nodes = roots.map(({ id, resolved }) => ({
    isResolved: resolved,
    comments: { nodes: [{ databaseId: id }] }
  }))
  const reviewThreads = { nodes, pageInfo: { hasNextPage: false, endCursor: null } }
  return ok({ data: { repository: { pullRequest: { reviewThreads } } } })
}

export const githubStanding: StandingRoute = (held, rest, url, body) => {
  const runsOf = matched(rest, /^\/commits\/(\w+)\/check-runs$/)
  if (runsOf !== undefined) {
    const all = held.checks.filter(({ head, system }) => system === "run" && head === runsOf)
    const runs = url.searchParams.get("filter") === "all" ? all : latest(all)
    const shown = (run: HeldCheck) => item(`GET ${repository}/commits/{ref}/check-runs`, checkRunOf(run), "check_runs")
    return paged(url, 100, runs, (page) => ({ total_count: runs.length, check_runs: page.map(shown) }))
  }
  if (rest === "/actions/runs") {
    const isIts = ({ app, head, system }: HeldCheck) =>
      system === "run" && app.slug === "github-actions" && head === url.searchParams.get("head_sha")
    const suites = suitesOf(held.checks.filter(isIts))
    return paged(url, 100, suites, (page) => ({
      total_count: suites.length,
      workflow_runs: page.map(workflowRunOf(held.checks))
    }))
  }
  const statusesOf = matched(rest, /^\/commits\/(\w+)\/status$/)
  if (statusesOf !== undefined) {
    const found = held.checks.filter(({ head, system }) => system === "status" && head === statusesOf)
    // GitHub says `pending` of a commit without any.
    const state = found.some((check) => check.state === "failed")
      ? "failure"
      : found.length === 0
        ? "pending"
        : "success"
    const about = { state, sha: statusesOf, total_count: found.length }
    return paged(url, 100, found, (page) => answer(pathOfStatus, { ...about, statuses: page.map(statusItem) }))
  }
  if (/^\/pulls\/\d+\/reviews$/.test(rest)) return paged(url, 100, held.reviews, (page) => page.map(reviewOf))
  const commentsOf = matched(rest, /^\/(pulls|issues)\/\d+\/comments$/)
  if (commentsOf !== undefined) {
    const isOfLines = commentsOf === "pulls"
    const wanted = held.comments.filter(({ place }) => (place !== undefined) === isOfLines)
    const shown = (comment: HeldComment) =>
      isOfLines
        ? item(`GET ${repository}/pulls/{pull_number}/comments`, lineFields(comment))
        : item(`GET ${repository}/issues/{issue_number}/comments`, talkFields(comment))
    return paged(url, 100, wanted, (page) => page.map(shown))
  }
  if (rest === "/graphql" && body.includes("reviewThreads")) return githubThreads(held.comments)
  return undefined
}
