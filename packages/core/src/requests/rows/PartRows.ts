import { CheckId, type MergeRequestId, newId, ReviewId, type SessionId, ThreadId } from "@reins/base/domain/Ids"
import type { PageRequest } from "@reins/base/domain/Page"
import type { CheckIdentity } from "@reins/machine/forge/CheckIdentity"
import type { ForgeView, RemoteAuthor, RemoteCheck, RemoteReview, RemoteThread } from "@reins/machine/forge/ForgeView"
import { Effect } from "effect"
import { Database } from "../../store/Database.js"
import * as Keyset from "../../store/Keyset.js"
import type { SeenCheck } from "./CheckLogs.js"
import type {
  ForgeAuthor,
  JudgedReview,
  RequestCheck,
  RequestReview,
  RequestThread,
  SaidReview,
  SaidThread,
  ThreadComment
} from "./RequestParts.js"
import { requestReplies } from "./RequestReplies.js"

interface CheckRow extends Omit<RequestCheck, "optional" | "on_base"> {
  readonly key: string
  readonly run: string
  /** JSON. */
  readonly identity: string | null
  readonly optional: number
  readonly on_base: number | null
}

interface ReviewRow extends Omit<RequestReview, "author"> {
  readonly forge_id: string
  readonly author: string
  readonly official: number | null
}

interface ThreadRow extends Omit<RequestThread, "outdated" | "resolved" | "comments"> {
  readonly forge_id: string
  readonly outdated: number
  readonly resolved: number | null
  readonly comments: string
}

const toCheck = ({ identity: _identity, key: _key, on_base, optional, run: _run, ...row }: CheckRow): RequestCheck => ({
  ...row,
  optional: optional === 1,
  on_base: on_base === null ? null : on_base === 1
})

const identityIn = ({ identity }: Pick<CheckRow, "identity">): CheckIdentity | null =>
  identity === null ? null : JSON.parse(identity)

const toReview = ({ author, forge_id: _id, official: _official, ...row }: ReviewRow): RequestReview => ({
  ...row,
  author: JSON.parse(author)
})

const toThread = ({ comments, forge_id: _id, outdated, resolved, ...row }: ThreadRow): RequestThread => ({
  ...row,
  outdated: outdated === 1,
  resolved: resolved === null ? null : resolved === 1,
  comments: JSON.parse(comments)
})

const authorOf = ({ isBot, login }: RemoteAuthor, self: string | undefined): ForgeAuthor => ({
  login,
  kind: login === self ? "self" : isBot ? "bot" : "person"
})

/** A review that a view has just read, as decisions compare it. */
export const reviewIn =
  (self: string | undefined) =>
  ({ at, author, official, state }: RemoteReview): SaidReview => ({
    author: authorOf(author, self),
    official,
    state,
    submitted_at: at
  })

/** The same for a thread. */
export const threadIn =
  (self: string | undefined) =>
  ({ comments, path, resolved }: RemoteThread): SaidThread => ({
    path,
    resolved,
    comments: comments.map(({ author }) => ({ author: authorOf(author, self) }))
  })

/** Reads the rows of the parts of merge requests. */
export const partReads = Effect.map(Database, ({ all, sql }) => {
  const pageOf = Effect.fnUntraced(function* <Row extends { readonly id: string }, A>(
    table: string,
    id: MergeRequestId,
    page: PageRequest & { readonly head_sha?: string },
    toItem: (row: Row) => A
  ) {
    const { before, limit } = yield* Keyset.descending(page)
    const ofHead = page.head_sha === undefined ? sql`` : sql` and head_sha = ${page.head_sha}`
    const rows = yield* all(sql<Row>`select * from ${sql(table)}
      where merge_request_id = ${id} and id < ${before}${ofHead} order by id desc limit ${limit + 1}`)
    return Keyset.map(
      Keyset.page(rows, limit, (row) => row.id),
      toItem
    )
  })
  const every = <Row extends object>(table: string, id: MergeRequestId) =>
    all(sql<Row>`select * from ${sql(table)} where merge_request_id = ${id} order by id`)
  return {
    /** True when a delivery of the session has pushed the commit. */
    isDelivered: (sessionId: SessionId, branch: string, commit: string) =>
      Effect.map(
        all(sql<{ id: string }>`select id from deliveries
          where session_id = ${sessionId} and target_ref = ${branch} and commit_sha = ${commit} limit 1`),
        (rows) => rows.length > 0
      ),
    checks: (id: MergeRequestId, page: PageRequest & { readonly head_sha?: string }) =>
      pageOf<CheckRow, RequestCheck>("request_checks", id, page, toCheck),
    reviews: (id: MergeRequestId, page: PageRequest) =>
      pageOf<ReviewRow, RequestReview>("request_reviews", id, page, toReview),
    threads: (id: MergeRequestId, page: PageRequest) =>
      pageOf<ThreadRow, RequestThread>("request_threads", id, page, toThread),
    /** The merge request of a check. */
    requestOf: (checkId: string) =>
      Effect.map(
        all(sql<{ id: MergeRequestId }>`select merge_request_id as id from request_checks where id = ${checkId}`),
        ([row]) => row?.id
      ),
    /** The id on the forge of a thread of a merge request; undefined for a thread of another one. */
    threadOf: (id: MergeRequestId, threadId: string) =>
      Effect.map(
        all(
          sql<{
            forge_id: string
          }>`select forge_id from request_threads where merge_request_id = ${id} and id = ${threadId}`
        ),
        ([row]) => row?.forge_id
      ),
    /** True when a check of any head was seen. */
    hasChecks: (id: MergeRequestId) =>
      Effect.map(
        all(sql<{ id: string }>`select id from request_checks where merge_request_id = ${id} limit 1`),
        (rows) => rows.length > 0
      ),
    seenChecksOf: (id: MergeRequestId, headSha: string) =>
      Effect.map(
        all(
          sql<CheckRow>`select * from request_checks where merge_request_id = ${id} and head_sha = ${headSha} order by id`
        ),
        (rows): ReadonlyArray<SeenCheck> =>
          rows.map((row) => ({ ...toCheck(row), key: row.key, run: row.run, identity: identityIn(row) }))
      ),
    reviewsOf: (id: MergeRequestId) =>
      Effect.map(every<ReviewRow>("request_reviews", id), (rows) => rows.map(toReview)),
    judgedReviewsOf: (id: MergeRequestId) =>
      Effect.map(
        every<ReviewRow>("request_reviews", id),
        (rows): ReadonlyArray<JudgedReview> =>
          rows.map((row) => ({ ...toReview(row), official: row.official === null ? null : row.official === 1 }))
      ),
    threadsOf: (id: MergeRequestId) => Effect.map(every<ThreadRow>("request_threads", id), (rows) => rows.map(toThread))
  }
})

const replacing = Effect.map(Database, ({ run, sql }) => {
  /** Writes the rows that differ and removes those that the forge no longer has. `keyOf` says which row is which. */
  return Effect.fnUntraced(function* <Row extends { readonly id: string }>(
    table: string,
    before: ReadonlyArray<Row>,
    wanted: ReadonlyArray<Omit<Row, "id">>,
    keyOf: (row: Omit<Row, "id">) => string,
    makeId: Effect.Effect<string>
  ) {
    const known = new Map(before.map((row) => [keyOf(row), row]))
    let isNews = false
    for (const row of wanted) {
      const old = known.get(keyOf(row))
      known.delete(keyOf(row))
      if (old === undefined) yield* run(sql`insert into ${sql(table)} ${sql.insert({ ...row, id: yield* makeId })}`)
      else if (Object.entries(row).some(([name, value]) => Reflect.get(old, name) !== value))
        yield* run(sql`update ${sql(table)} set ${sql.update({ ...row })} where id = ${old.id}`)
      else continue
      isNews = true
    }
    for (const { id } of known.values()) yield* run(sql`delete from ${sql(table)} where id = ${id}`)
    return isNews || known.size > 0
  })
})

/** Makes the rows of checks as the forge has them. Each function tells whether a row was new or has changed. */
export const checkWrites = Effect.map(Effect.all([Database, replacing]), ([{ all, run, sql }, replace]) => {
  const checkRows = (id: MergeRequestId, headSha: string) =>
    all(sql<CheckRow>`select * from request_checks where merge_request_id = ${id} and head_sha = ${headSha}`)
  return {
    checks: Effect.fnUntraced(function* (
      id: MergeRequestId,
      headSha: string,
      remote: ReadonlyArray<RemoteCheck>,
      base: ForgeView["baseChecks"]
    ) {
      const before = yield* checkRows(id, headSha)
      const onBase = onBaseBy(base, before)
      const rows = remote.map(({ endedAt, identity, key, name, optional, run, startedAt, state, url }) => ({
        merge_request_id: id,
        head_sha: headSha,
        key,
        run,
        name,
        identity: JSON.stringify(identity),
        state,
        optional: optional ? 1 : 0,
        on_base: onBase({ identity: JSON.stringify(identity), key, state }),
        url,
        started_at: startedAt,
        ended_at: endedAt
      }))
      return yield* replace<CheckRow>("request_checks", before, rows, ({ key }) => key, newId(CheckId))
    }),
    /** Compares checks that are known with those of the base branch. */
    onBase: Effect.fnUntraced(function* (id: MergeRequestId, headSha: string, base: ForgeView["baseChecks"]) {
      const before = yield* checkRows(id, headSha)
      const onBase = onBaseBy(base, before)
      const changed = before.filter((row) => row.on_base !== onBase(row))
      for (const row of changed)
        yield* run(sql`update request_checks set on_base = ${onBase(row)} where id = ${row.id}`)
      return changed.length > 0
    })
  }
})

/** The same for reviews and threads. */
export const partWrites = Effect.map(
  Effect.all([Database, replacing, requestReplies]),
  ([{ all, sql }, replace, replies]) => {
    return {
      /**
       * A forge may not tell the commit of a review. Then it is `steadyHead`: the head at which the review was first seen, if the look before had the
       * same one.
       */
      reviews: Effect.fnUntraced(function* (
        id: MergeRequestId,
        remote: ReadonlyArray<RemoteReview>,
        { self, steadyHead }: { readonly self: string | undefined; readonly steadyHead: string | null }
      ) {
        const before = yield* all(sql<ReviewRow>`select * from request_reviews where merge_request_id = ${id}`)
        const known = new Map(before.map((row) => [row.forge_id, row]))
        const rows = remote.map(({ at, author, body, forgeId, headSha, official, state, url }) => {
          const old = known.get(forgeId)
          return {
            merge_request_id: id,
            forge_id: forgeId,
            author: JSON.stringify(authorOf(author, self)),
            official: official === null ? null : official ? 1 : 0,
            state,
            head_sha: headSha ?? (old !== undefined && old.submitted_at === at ? old.head_sha : steadyHead),
            body,
            url,
            submitted_at: at
          }
        })
        return yield* replace<ReviewRow>("request_reviews", before, rows, ({ forge_id }) => forge_id, newId(ReviewId))
      }),
      /** Tells of comments of others alone, and of threads that were resolved or opened again. */
      threads: Effect.fnUntraced(function* (
        id: MergeRequestId,
        remote: ReadonlyArray<RemoteThread>,
        self: string | undefined
      ) {
        const before = yield* all(sql<ThreadRow>`select * from request_threads where merge_request_id = ${id}`)
        const isReply = yield* replies.knownOf(id)
        const rows = remote.map(({ comments, forgeId, line, outdated, path, resolved, side }) => ({
          merge_request_id: id,
          forge_id: forgeId,
          path,
          line,
          side,
          outdated: outdated ? 1 : 0,
          resolved: resolved === null ? null : resolved ? 1 : 0,
          comments: JSON.stringify(
            comments.map(
              ({ at, author, body, forgeId, url }): ThreadComment => ({
                forge_id: forgeId,
                // The forge may not tell whose token it is.
                author: isReply(forgeId, body) ? { login: author.login, kind: "self" } : authorOf(author, self),
                body,
                url,
                written_at: at
              })
            )
          )
        }))
        const hasChanged = yield* replace<ThreadRow>(
          "request_threads",
          before,
          rows,
          ({ forge_id }) => forge_id,
          newId(ThreadId)
        )
        return { hasChanged, isNews: hasChanged && newsOf(before) !== newsOf(rows) }
      })
    }
  }
)

/**
 * Gives the function that tells whether a check has failed on the base branch too: 1, 0, or null for what is not known. A forge that fails for a moment
 * changes nothing of what is known.
 */
const onBaseBy = (base: ForgeView["baseChecks"], before: ReadonlyArray<CheckRow>) => {
  const known = new Map(before.map(({ key, on_base }) => [key, on_base]))
  const there = base?.state === "read" ? base.value : []
  const isKept = base?.state === "unchanged" || (base?.state === "unread" && base.kind === "unavailable")
  return (row: Pick<CheckRow, "identity" | "key" | "state">): number | null => {
    if (row.state !== "failing") return null
    if (isKept) return known.get(row.key) ?? null
    const identity = identityIn(row)
    return identity === null ? null : failedAt(there, identity)
  }
}

/** The end of a check at another commit. Its runs for other events count if none was for the same one, and if they agree. */
const failedAt = (there: ReadonlyArray<RemoteCheck>, { source, trigger }: CheckIdentity): 0 | 1 | null => {
  const same = there.filter(({ identity }) => identity.source === source)
  const alike = same.filter(({ identity }) => identity.trigger === trigger)
  const states = new Set((alike.length > 0 ? alike : same).map(({ state }) => state))
  const [state] = states
  if (states.size !== 1) return null
  return state === "failing" ? 1 : state === "passing" ? 0 : null
}

/** The words of others in threads, and which of the threads are resolved. */
const newsOf = (rows: ReadonlyArray<Pick<ThreadRow, "comments" | "forge_id" | "resolved">>): string =>
  JSON.stringify(
    rows
      .map(({ comments, forge_id, resolved }): [string, number | null, ReadonlyArray<string>] => {
        const parsed: ReadonlyArray<ThreadComment> = JSON.parse(comments)
        const others = parsed.filter(({ author }) => author.kind !== "self")
        return [forge_id, resolved, others.map(({ body, forge_id }) => `${forge_id}:${body}`)]
      })
      .filter(([, resolved, others]) => others.length > 0 || resolved === 1)
      .sort(([one], [other]) => (one < other ? -1 : 1))
  )
