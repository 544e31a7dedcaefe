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

const Standing = Schema.Struct({
  has_conflicts: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  detailed_merge_status: Optional(Schema.String),
  head_pipeline: Optional(Schema.Struct({ sha: Schema.String, ref: Schema.String }))
})

const Status = Schema.Struct({
  id: Schema.Int,
  name: Schema.String,
  status: Schema.String,
  allow_failure: Optional(Schema.Boolean),
  started_at: Optional(Schema.String),
  finished_at: Optional(Schema.String),
  target_url: Optional(Schema.String)
})

const User = Schema.Struct({ username: Schema.String })

const Approvals = Schema.Struct({
  approved_by: Schema.Array(Schema.Struct({ user: User, approved_at: Optional(Schema.String) }))
})

const Reviewer = Schema.Struct({ user: User, state: Schema.String, created_at: Optional(Schema.String) })

const Note = Schema.Struct({
  id: Schema.Int,
  body: Schema.String,
  author: User,
  created_at: Schema.String,
  system: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  internal: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  resolvable: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  resolved: Optional(Schema.Boolean),
  position: Optional(
    Schema.Struct({
      new_path: Optional(Schema.String),
      old_path: Optional(Schema.String),
      new_line: Optional(Schema.Int),
      old_line: Optional(Schema.Int),
      head_sha: Optional(Schema.String)
    })
  )
})

const Discussion = Schema.Struct({ id: Schema.String, notes: Schema.Array(Note) })

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
    const checksOf = Effect.fnUntraced(function* (get: Get, shas: ReadonlyArray<string>) {
      const found: Array<typeof Status.Type> = []
      let complete = true
      for (const sha of shas) {
        const statuses = yield* allPages(get, {
          path: (page) => `${root}/repository/commits/${sha}/statuses?per_page=100&page=${page}`,
          size: 100,
          most: mostChecks,
          schema: Status
        })
        found.push(...statuses.value)
        complete = complete && statuses.complete
      }
      const inOrder = found.sort((one, other) => one.id - other.id)
      return { value: newestOf(inOrder.map(checkOf), ({ key }) => key), complete }
    })
    return viewBy(ask, memory, {
      request: Effect.fnUntraced(function* (get) {
        const answer = yield* readStanding(get)
        const given = yield* decodeAnswer(Standing)(answer)
        return { ...(yield* standing(answer)), conflicts: conflictsOf(given) }
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
        const { approved_by } = yield* decodeAnswer(Approvals)(
          yield* get({ method: "GET", path: `${request}/approvals` })
        )
        const reviewers = yield* allPages(get, {
          path: (page) => `${request}/reviewers?per_page=100&page=${page}`,
          size: 100,
          most: mostChecks,
          schema: Reviewer
        })
        const approved = approved_by.map(({ approved_at, user }) => reviewOf(user, "approved", approved_at))
        const asking = reviewers.value
          .filter(({ state }) => state === "requested_changes")
          .map(({ created_at, user }) => reviewOf(user, "changes_requested", created_at))
        return { value: [...approved, ...asking], complete: reviewers.complete }
      }),
      threads: Effect.fnUntraced(function* (get, headSha) {
        const { complete, value } = yield* allPages(get, {
          path: (page) => `${request}/discussions?per_page=100&page=${page}`,
          size: 100,
          most: mostComments,
          schema: Discussion
        })
        // One discussion may have any number of notes.
        const threads: Array<RemoteThread> = []
        let left = mostComments
        for (const thread of value.flatMap((discussion) => threadOf(discussion, headSha))) {
          const comments = thread.comments.slice(0, Math.max(0, left))
          if (comments.length > 0) threads.push({ ...thread, comments })
          left -= thread.comments.length
        }
        return { value: threads, complete: complete && left >= 0 }
      })
    })
  }

const notComputed = new Set(["unchecked", "checking", "preparing", "approvals_syncing"])

const conflictsOf = (given: typeof Standing.Type): RemoteStanding["conflicts"] => {
  if (given.has_conflicts || given.detailed_merge_status === "conflict") return "conflicts"
  return given.detailed_merge_status === null || notComputed.has(given.detailed_merge_status) ? "unknown" : "none"
}

const states: Readonly<Record<string, CheckState>> = {
  created: "pending",
  waiting_for_resource: "pending",
  waiting_for_callback: "pending",
  preparing: "pending",
  pending: "pending",
  running: "pending",
  scheduled: "pending",
  success: "passing",
  canceling: "cancelled",
  canceled: "cancelled",
  skipped: "skipped",
  manual: "action_required"
}

const checkOf = (status: typeof Status.Type): RemoteCheck => ({
  key: `status:${status.name}`,
  run: String(status.id),
  name: status.name,
  state: states[status.status] ?? "failing",
  optional: status.allow_failure === true,
  startedAt: status.started_at,
  endedAt: status.finished_at,
  url: status.target_url
})

// GitLab names the users of project and group tokens like this.
const authorOf = ({ username }: typeof User.Type): RemoteAuthor => ({
  login: username,
  isBot: /^(?:project|group)_\d+_bot(?:_|$)/.test(username)
})

/** GitLab keeps no commit with them. */
const reviewOf = (user: typeof User.Type, state: RemoteReview["state"], at: string | null): RemoteReview => ({
  forgeId: `${state}:${user.username}`,
  author: authorOf(user),
  state,
  headSha: undefined,
  body: "",
  at,
  url: null
})

/** Notes of the system and internal ones are none. */
const threadOf = ({ id, notes }: typeof Discussion.Type, headSha: string): ReadonlyArray<RemoteThread> => {
  const [first, ...others] = notes.filter(({ internal, system }) => !system && !internal)
  if (first === undefined) return []
  const { position } = first
  const isOld = position !== null && position.new_line === null && position.old_line !== null
  return [
    {
      forgeId: id,
      path: position === null ? null : ((isOld ? position.old_path : position.new_path) ?? position.new_path),
      line: position === null ? null : (position.new_line ?? position.old_line),
      side: position === null ? null : isOld ? "old" : "new",
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
