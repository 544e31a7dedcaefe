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
import { filled, recordings } from "./Recorded.js"

const { answer, item } = recordings("gitlab")

const project = "/projects/{id}"
const request = `${project}/merge_requests/{merge_request_iid}`

const gitlabStates = {
  pending: "running",
  passed: "success",
  failed: "failed",
  cancelled: "canceled",
  skipped: "skipped",
  waiting: "manual"
}

/** The word of GitLab for the state of a check. */
export const gitlabWord = ({ state, word }: Pick<HeldCheck, "state" | "word">): string => word ?? gitlabStates[state]

const gitlabRef = ({ event }: HeldCheck): string => (event === "pull_request" ? "refs/merge-requests/1/head" : "work")

export const gitlabUser = (username: string) => ({
  id: username === "ann" ? 7 : 8,
  username,
  name: username
})

const statusOf = (check: HeldCheck) =>
  item(`GET ${project}/repository/commits/{sha}/statuses`, {
    id: check.id,
    sha: check.head,
    ref: gitlabRef(check),
    pipeline_id: check.suite,
    name: check.name,
    status: gitlabWord(check),
    allow_failure: check.optional,
    created_at: check.startedAt,
    started_at: check.startedAt,
    finished_at: check.state === "pending" ? null : check.startedAt,
    target_url: `https://gitlab.example/-/jobs/${check.id}`,
    author: gitlabUser("ann")
  })

const pipelineOf = (check: HeldCheck) =>
  item(`GET ${project}/pipelines`, {
    id: check.suite,
    project_id: 3,
    sha: check.head,
    ref: gitlabRef(check),
    source: check.event === "pull_request" ? "merge_request_event" : check.event,
    status: gitlabStates[check.state]
  })

const reviewerWords = { approved: "approved", changes_requested: "requested_changes", commented: "reviewed" }

const reviewerOf = ({ author, state }: HeldReview) =>
  item(`GET ${request}/reviewers`, { user: gitlabUser(author), state: reviewerWords[state], created_at: at })

const authorOf = (comment: HeldComment) => gitlabUser(comment.isBot ? `project_3_bot_${comment.id}` : comment.author)

const noteFields = (comment: HeldComment) => ({
  id: comment.id,
  body: comment.body,
  author: authorOf(comment),
  noteable_id: 9000 + comment.pull,
  noteable_iid: comment.pull,
  created_at: at,
  updated_at: at
})

/** The answer to a comment that was written. */
export const gitlabWritten = (comment: HeldComment): unknown =>
  comment.replyTo === undefined
    ? answer(`POST ${request}/notes`, noteFields(comment))
    : answer(`POST ${request}/discussions/{discussion_id}/notes`, noteFields(comment))

/** A comment in the list of notes. */
export const gitlabNote = (comment: HeldComment): unknown => item(`GET ${request}/notes`, noteFields(comment))

/** A discussion of the recording with other notes. A note on a line is one of another recording. */
const discussionOf = (id: string, root: HeldComment | undefined, notes: ReadonlyArray<unknown>) =>
  item(`GET ${request}/discussions`, { id, individual_note: root?.place === undefined, notes })

const firstNote = (listed: unknown): unknown => {
  const notes = typeof listed === "object" && listed !== null ? Reflect.get(listed, "notes") : undefined
  return Array.isArray(notes) ? notes[0] : undefined
}

const recordedNote = firstNote(item(`GET ${request}/discussions`, {}))
const recordedLineNote = firstNote(item(`GET ${request}/discussions with a position`, {}))

const noteOf = (comment: HeldComment, { place, resolved }: HeldComment): unknown => {
  if (place === undefined)
    return filled(recordedNote, { ...noteFields(comment), type: null, resolvable: false, resolved: undefined })
  return filled(recordedLineNote, {
    ...noteFields(comment),
    commit_id: comment.head,
    resolved,
    position: {
      position_type: place.line === null ? "file" : "text",
      head_sha: comment.head,
      old_path: place.path,
      new_path: place.path,
      old_line: place.side === "old" ? place.line : null,
      new_line: place.side === "new" ? place.line : null,
      line_range: null
    }
  })
}

const systemNote = (pull: number): unknown =>
  filled(recordedNote, {
    id: 1,
    noteable_id: 9000 + pull,
    noteable_iid: pull,
    type: null,
    body: "added 1 commit",
    author: gitlabUser("ann"),
    created_at: at,
    updated_at: at,
    system: true,
    resolvable: false,
    resolved: undefined
  })

export const gitlabStanding: StandingRoute = (held, rest, url) => {
  const statusesOf = matched(rest, /^\/repository\/commits\/(\w+)\/statuses$/)
  if (statusesOf !== undefined) {
    const statuses = latest(held.checks.filter(({ head }) => head === statusesOf))
    return paged(url, 100, statuses, (page) => page.map(statusOf))
  }
  if (rest === "/pipelines") {
    const pipelines = suitesOf(held.checks.filter(({ head }) => head === url.searchParams.get("sha")))
    return paged(url, 100, pipelines, (page) => page.map(pipelineOf))
  }
  if (/^\/merge_requests\/\d+\/approvals$/.test(rest)) {
    const approving = held.reviews.filter(({ dismissed, state }) => state === "approved" && !dismissed)
    const approver = ({ author }: HeldReview) =>
      item(`GET ${request}/approvals`, { user: gitlabUser(author) }, "approved_by")
    const approved_by = approving.map(approver)
    return ok(answer(`GET ${request}/approvals`, { approvals_required: 0, approvals_left: 0, approved_by }))
  }
  if (/^\/merge_requests\/\d+\/reviewers$/.test(rest))
    return paged(url, 100, held.reviews, (page) => page.map(reviewerOf))
  const discussed = matched(rest, /^\/merge_requests\/(\d+)\/discussions$/)
  if (discussed !== undefined) {
    const roots = held.comments.filter(({ replyTo }) => replyTo === undefined)
    const discussions = roots.map((root) =>
      discussionOf(
        root.id.toString(16).padStart(40, "0"),
        root,
        [root, ...held.comments.filter(({ replyTo }) => replyTo === root.id)].map((comment) => noteOf(comment, root))
      )
    )
    return paged(
      url,
      100,
      [discussionOf("system", undefined, [systemNote(Number(discussed))]), ...discussions],
      (page) => page
    )
  }
  return undefined
}
