import {
  at,
  type HeldCheck,
  type HeldComment,
  type HeldReview,
  matched,
  ok,
  paged,
  type StandingRoute
} from "./ForgeStanding.js"
import { userOf } from "./GitHubStanding.js"
import { recordings } from "./Recorded.js"

const { answer, item } = recordings("gitea")

const repository = "/repos/{owner}/{repo}"

/** An account. Gitea tells of no bots. */
export const giteaUser = (login: string) => {
  const { id } = userOf(login)
  return { id, login, html_url: `https://gitea.example/${login}` }
}

const statusWords = {
  pending: "pending",
  passed: "success",
  failed: "failure",
  cancelled: "error",
  skipped: "skipped",
  waiting: "warning"
}

/** An account with all of its fields. */
export const giteaAccount = (login: string): unknown =>
  answer("GET /user", { ...giteaUser(login), username: undefined })

/** The word of Gitea for the state of a status. */
export const giteaWord = ({ state, word }: Pick<HeldCheck, "state" | "word">): string => word ?? statusWords[state]

const statusOf = (check: HeldCheck) =>
  item(`GET ${repository}/commits/{ref}/statuses`, {
    id: check.id,
    context: check.name,
    status: giteaWord(check),
    target_url: `https://gitea.example/acme/shop/actions/runs/1/jobs/${check.id}`,
    created_at: check.startedAt,
    updated_at: check.startedAt
  })

const reviewWords = { approved: "APPROVED", changes_requested: "REQUEST_CHANGES", commented: "COMMENT" }

const listed = `GET ${repository}/pulls/{index}/reviews`

const reviewOf = (review: HeldReview) =>
  item(listed, {
    id: review.id,
    user: giteaUser(review.author),
    body: review.body,
    state: reviewWords[review.state],
    commit_id: review.head,
    stale: false,
    dismissed: review.dismissed,
    official: review.official,
    comments_count: 0,
    submitted_at: at,
    html_url: `https://gitea.example/reviews/${review.id}`
  })

/** The review that stands for a thread of its own. */
const reviewOfLines = (root: HeldComment, count: number) => ({
  id: 100_000 + root.id,
  user: giteaUser(root.author),
  body: "",
  state: "COMMENT",
  commit_id: root.head,
  stale: false,
  dismissed: false,
  official: false,
  comments_count: count,
  submitted_at: at,
  html_url: ""
})

/** The answer to a comment on a line that was written. */
export const giteaReview = (root: HeldComment): unknown =>
  answer(`POST ${repository}/pulls/{index}/reviews`, reviewOfLines(root, 1))

const lineOf = (comment: HeldComment, root: HeldComment | undefined) =>
  item(`GET ${repository}/pulls/{index}/reviews/{id}/comments`, {
    id: comment.id,
    user: giteaAccount(comment.author),
    body: comment.body,
    path: comment.place?.path,
    commit_id: comment.head,
    position: root?.place?.side === "new" ? root.place.line : 0,
    original_position: root?.place?.side === "old" ? root.place.line : 0,
    resolver: root?.resolved === true ? giteaAccount("ann") : null,
    created_at: at,
    updated_at: at,
    html_url: ""
  })

const talkFields = (comment: HeldComment) => ({
  id: comment.id,
  user: giteaUser(comment.author),
  body: comment.body,
  created_at: at,
  html_url: ""
})

/** The answer to a comment that was written. */
export const giteaWritten = (comment: HeldComment): unknown =>
  answer(`POST ${repository}/issues/{index}/comments`, talkFields(comment))

export const giteaStanding: StandingRoute = (held, rest, url) => {
  const statusesOf = matched(rest, /^\/commits\/(\w+)\/statuses$/)
  if (statusesOf !== undefined) {
    const statuses = held.checks.filter(({ head }) => head === statusesOf)
    return paged(url, 50, [...statuses].reverse(), (page) => page.map(statusOf))
  }
  const lineComments = held.comments.filter(({ place }) => place !== undefined)
  // A review of its own stands for each thread.
  const roots = lineComments.filter(({ replyTo }) => replyTo === undefined)
  if (/^\/pulls\/\d+\/reviews$/.test(rest)) {
    const ofLines = roots.map((root) => {
      const count = 1 + lineComments.filter(({ replyTo }) => replyTo === root.id).length
      return item(listed, reviewOfLines(root, count))
    })
    return paged(url, 50, [...held.reviews.map(reviewOf), ...ofLines], (page) => page)
  }
  const linesOf = matched(rest, /^\/pulls\/\d+\/reviews\/(\d+)\/comments$/)
  if (linesOf !== undefined) {
    const root = roots.find(({ id }) => 100_000 + id === Number(linesOf))
    const thread = lineComments.filter(({ id, replyTo }) => id === root?.id || replyTo === root?.id)
    return ok(thread.map((comment) => lineOf(comment, root)))
  }
  if (/^\/issues\/\d+\/comments$/.test(rest)) {
    const talk = held.comments.filter(({ place }) => place === undefined)
    return ok(talk.map((comment) => item(`GET ${repository}/issues/{index}/comments`, talkFields(comment))))
  }
  return undefined
}
