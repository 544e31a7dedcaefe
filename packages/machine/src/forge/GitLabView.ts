import { readEach } from "@reins/base/base/ForeignList"
import { adorns, foreignName } from "@reins/base/base/ForeignText"
import { Effect, Schema } from "effect"
import { bodyOf, CommitSha, ForgeLogin, loginOf, nobody, orNull, Path, Time } from "./ForeignParts.js"
import { type Ask, decodeAnswer, type ForgeError } from "./Forge.js"
import type {
  RemoteAuthor,
  RemoteObstacle,
  RemoteReview,
  RemoteStanding,
  RemoteThread,
  ViewMemory
} from "./ForgeView.js"
import { gitLabChecks } from "./GitLabChecks.js"
import { mergeWordOf } from "./GitLabMergeWords.js"
import { allPages, type Get, headOfBranch, listIn, mostChecks, mostComments, viewBy } from "./Viewing.js"

const Standing = Schema.Struct({
  has_conflicts: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  detailed_merge_status: orNull(Schema.String),
  head_pipeline: orNull(Schema.Struct({ sha: Schema.String, ref: Schema.String }))
})

const User = Schema.NullOr(Schema.Struct({ username: ForgeLogin }))

const Approver = Schema.Struct({ user: User, approved_at: Time })

const Reviewer = Schema.Struct({
  user: User,
  state: Schema.Literal("unreviewed", "reviewed", "requested_changes", "approved", "unapproved", "review_started"),
  created_at: Time
})

const Note = Schema.Struct({
  id: Schema.Int,
  body: orNull(Schema.String),
  author: User,
  created_at: Time,
  system: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  internal: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  resolvable: Schema.Boolean,
  resolved: orNull(Schema.Boolean),
  position: orNull(
    Schema.Struct({
      new_path: Path,
      old_path: orNull(Path),
      new_line: adorns(Schema.Int),
      old_line: adorns(Schema.Int),
      head_sha: adorns(CommitSha)
    })
  )
})

/** Each discussion has a note. */
const Discussion = Schema.Struct({
  id: Schema.String.pipe(Schema.pattern(/^[\w-]{1,255}$/)),
  notes: Schema.NonEmptyArray(Schema.Unknown)
})

/** A discussion, with those of its notes that can be read. */
interface ReadDiscussion {
  readonly id: string
  readonly notes: ReadonlyArray<typeof Note.Type>
}

/** Reads a merge request of GitLab. `standing` makes one of its answer. */
export const gitLabView =
  (
    ask: Ask,
    repository: string,
    standing: (answer: unknown) => Effect.Effect<Omit<RemoteStanding, "conflicts">, ForgeError>
  ) =>
  (number: number, memory: ViewMemory) => {
    const root = `/projects/${encodeURIComponent(repository)}`
    const request = `${root}/merge_requests/${number}`
    const readStanding = (get: Get) => get({ method: "GET", path: request })
    const checksOf = gitLabChecks(root)
    return viewBy(ask, memory, {
      request: Effect.fnUntraced(function* (get) {
        const answer = yield* readStanding(get)
        const given = yield* decodeAnswer(Standing)(answer)
        const obstacle = obstacleIn(given)
        return { ...(yield* standing(answer)), conflicts: conflictsOf(given), ...(obstacle && { obstacle }) }
      }),
      checks: Effect.fnUntraced(function* (get, headSha) {
        // The pipeline of a merged result runs on the commit of that merge.
        const { head_pipeline } = yield* decodeAnswer(Standing)(yield* readStanding(get))
        const isMerge = head_pipeline?.ref === `refs/merge-requests/${number}/merge`
        const shas = isMerge && head_pipeline.sha !== headSha ? [headSha, head_pipeline.sha] : [headSha]
        return yield* checksOf(get, shas)
      }),
      baseChecks: Effect.fnUntraced(function* (get, base) {
        const path = `${root}/repository/branches/${encodeURIComponent(base)}`
        return yield* checksOf(get, [yield* headOfBranch(get, path)])
      }),
      reviews: Effect.fnUntraced(function* (get) {
        const answer = yield* get({ method: "GET", path: `${request}/approvals` })
        const approvers = readEach(Approver)(yield* listIn(answer, "approved_by"))
        const reviewers = yield* allPages(get.page, {
          path: (page) => `${request}/reviewers?per_page=100&page=${page}`,
          size: 100,
          most: mostChecks,
          schema: Reviewer
        })
        const approved = approvers.items.map(({ approved_at, user }) => reviewOf(user, "approved", approved_at))
        const asking = reviewers.value
          .filter(({ state }) => state === "requested_changes")
          .map(({ created_at, user }) => reviewOf(user, "changes_requested", created_at))
        return {
          value: [...approved, ...asking],
          complete: reviewers.complete,
          odd: [...approvers.odd, ...reviewers.odd]
        }
      }),
      threads: Effect.fnUntraced(function* (get, headSha) {
        const { complete, odd, value } = yield* allPages(get.page, {
          path: (page) => `${request}/discussions?per_page=100&page=${page}`,
          size: 100,
          most: mostComments,
          schema: Discussion
        })
        // A page that has moved on tells a discussion again.
        const distinct = new Map(value.map((each) => [JSON.stringify(each), each]))
        const discussions = [...distinct.values()].map(({ id, notes }) => ({ id, read: readEach(Note)(notes) }))
        // One discussion may have any number of notes.
        const threads: Array<RemoteThread> = []
        let left = mostComments
        for (const thread of discussions.flatMap(({ id, read }) => threadOf({ id, notes: read.items }, headSha))) {
          const comments = thread.comments.slice(0, Math.max(0, left))
          if (comments.length > 0) threads.push({ ...thread, comments })
          left -= thread.comments.length
        }
        return {
          value: threads,
          complete: complete && left >= 0,
          odd: [...odd, ...discussions.flatMap(({ read }) => read.odd)]
        }
      })
    })
  }

const notComputed = new Set(["unchecked", "checking", "preparing", "approvals_syncing"])

const conflictsOf = (given: typeof Standing.Type): RemoteStanding["conflicts"] => {
  if (given.has_conflicts || given.detailed_merge_status === "conflict") return "conflicts"
  return given.detailed_merge_status === null || notComputed.has(given.detailed_merge_status) ? "unknown" : "none"
}

/** A state is no obstacle where conflicts or the draft tell it already. */
const saidElsewhere = new Set([...notComputed, "conflict", "draft_status", "not_open"])

const obstacleIn = ({ detailed_merge_status: word }: typeof Standing.Type): RemoteObstacle | undefined => {
  if (word === null || saidElsewhere.has(word)) return undefined
  const known = mergeWordOf(word)
  return known && { word: foreignName(word, 100), say: known.say }
}

// GitLab names the users of project and group tokens like this.
const authorOf = (user: typeof User.Type): RemoteAuthor =>
  user === null
    ? nobody
    : { login: loginOf(user.username), isBot: /^(?:project|group)_\d+_bot(?:_|$)/.test(user.username) }

/** GitLab keeps no commit with them. */
const reviewOf = (user: typeof User.Type, state: RemoteReview["state"], at: string | null): RemoteReview => ({
  forgeId: `${state}:${authorOf(user).login}`,
  author: authorOf(user),
  state,
  official: null,
  headSha: undefined,
  body: "",
  at,
  url: null
})

/** Notes of the system and internal ones are none. */
const threadOf = ({ id, notes }: ReadDiscussion, headSha: string): ReadonlyArray<RemoteThread> => {
  const [first, ...others] = notes.filter(({ internal, system }) => !system && !internal)
  if (first === undefined) return []
  const { position } = first
  const isOld = position !== null && position.new_line === null && position.old_line !== null
  return [
    {
      forgeId: id,
      path: position === null ? null : ((isOld ? position.old_path : undefined) ?? position.new_path),
      line: position === null ? null : (position.new_line ?? position.old_line),
      // A note on a whole file has no line.
      side: isOld ? "old" : position !== null && position.new_line !== null ? "new" : null,
      outdated: position !== null && position.head_sha !== null && position.head_sha !== headSha,
      resolved: first.resolvable
        ? [first, ...others].every(({ resolvable, resolved }) => !resolvable || resolved === true)
        : null,
      comments: [first, ...others].map((note) => ({
        forgeId: String(note.id),
        author: authorOf(note.author),
        body: bodyOf(note.body),
        at: note.created_at,
        url: null
      }))
    }
  ]
}
