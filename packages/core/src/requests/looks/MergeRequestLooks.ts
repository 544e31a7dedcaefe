import { fn } from "@reins/base/base/Traced"
import { requireAll } from "@reins/base/domain/Condition"
import type { ConnectionId, MergeRequestId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { Access, type Denied, type Unseen } from "../../access/Access.js"
import { SessionStore } from "../../sessions/rows/SessionStore.js"
import type { Command } from "../../store/Command.js"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import { Journal } from "../../store/Journal.js"
import { checkLogs } from "../rows/CheckLogs.js"
import type { ActionableMergeRequest, LookAnswer } from "../rows/MergeRequest.js"
import { mergeRequestRules, mergeRequestViews } from "../rows/MergeRequestRules.js"
import { type MergeRequestFilter, MergeRequestStore } from "../rows/MergeRequestStore.js"
import { partReads } from "../rows/PartRows.js"
import type { RequestCheck, RequestCheckLog, RequestReview, RequestThread } from "../rows/RequestParts.js"
import { WatchStore } from "../rows/WatchStore.js"

type Refused = Unseen | ReinsError<"invalid_cursor">

/** The merge requests that a call of a forge may be about. Each field that is given has to be right. */
export interface Rung {
  readonly connectionId: ConnectionId
  /** The path of the repository on the forge. Case does not matter. */
  readonly repository: string
  readonly number?: number
  readonly headSha?: string
  readonly headBranch?: string
}

/** Reads open merge requests as the forges show them, and has them looked at. */
export class MergeRequestLooks extends Context.Tag("@reins/core/requests/looks/MergeRequestLooks")<
  MergeRequestLooks,
  {
    /**
     * Has the forge read anew about one merge request, and says nothing of it. It may be called for every call of a hook: any number of rings
     * before a look is one look. False when the merge request is not open.
     */
    readonly ring: (mergeRequestId: MergeRequestId) => Effect.Effect<boolean, never, Commit>
    /** `ring` for all open merge requests that are meant, or may be. Gives their number. */
    readonly ringAll: (rung: Rung) => Effect.Effect<number, never, Commit>
    /**
     * Has the forge read anew. It is done when `observed_at` is not before `asked_at`: a look that was under way is not this one. Fails with
     * `invalid_transition` unless the merge request is open.
     */
    readonly look: (
      principal: Principal,
      mergeRequestId: string
    ) => Command<LookAnswer, Denied | ReinsError<"invalid_transition">>
    /** The merge requests of the sessions of a workspace, newest first. */
    readonly list: (
      principal: Principal,
      workspaceId: string,
      filter: MergeRequestFilter
    ) => Effect.Effect<Page<ActionableMergeRequest>, Refused>
    /** Checks of all heads that were seen, or of one, newest first. */
    readonly checks: (
      principal: Principal,
      mergeRequestId: string,
      page: PageRequest & { readonly head_sha?: string }
    ) => Effect.Effect<Page<RequestCheck>, Refused>
    /** The log of a check. Fails with `result_not_ready` unless its newest run has failed and its log was read. */
    readonly log: (
      principal: Principal,
      checkId: string
    ) => Effect.Effect<RequestCheckLog, Unseen | ReinsError<"result_not_ready">>
    /** Reviews, newest first. */
    readonly reviews: (
      principal: Principal,
      mergeRequestId: string,
      page: PageRequest
    ) => Effect.Effect<Page<RequestReview>, Refused>
    /** Threads, newest first. */
    readonly threads: (
      principal: Principal,
      mergeRequestId: string,
      page: PageRequest
    ) => Effect.Effect<Page<RequestThread>, Refused>
  }
>() {
  static readonly layer = Layer.effect(
    MergeRequestLooks,
    Effect.gen(function* () {
      const access = yield* Access
      const { toMergeRequestFor, toMergeRequestsFor } = yield* mergeRequestViews
      const { all, clock, sql } = yield* Database
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const store = yield* MergeRequestStore
      const watches = yield* WatchStore
      const reads = yield* partReads
      const logs = yield* checkLogs

      const readable = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const request = yield* store.find(id)
        if (request === undefined) return yield* notFound()
        yield* sessions.readable(principal, request.session_id)
        return request
      })

      return MergeRequestLooks.of({
        ring: (id) => watches.ring(id, true),
        ringAll: fn("MergeRequestLooks.ringAll")(function* ({ connectionId, headBranch, headSha, number, repository }) {
          const at = yield* clock.at(0)
          const meant = yield* all(
            sql<{ id: MergeRequestId }>`select merge_requests.id from watches
              join merge_requests on merge_requests.id = watches.merge_request_id where ${sql.and([
                sql`state = 'open'`,
                sql`watches.connection_id = ${connectionId}`,
                sql`lower(repository) = ${repository.toLowerCase()}`,
                ...(number === undefined ? [] : [sql`number = ${number}`]),
                // A look that is under way may be reading a head of which nothing is written down yet.
                ...(headSha === undefined ? [] : [sql`(head_sha = ${headSha} or watches.held_until > ${at})`]),
                ...(headBranch === undefined ? [] : [sql`head_branch = ${headBranch}`])
              ])} order by merge_requests.id`
          )
          for (const { id } of meant) yield* watches.ring(id, true)
          return meant.length
        }),
        look: (principal, id) =>
          journal.command(
            "MergeRequestLooks.look",
            { by: principal, about: { type: "merge_request", id } },
            Effect.gen(function* () {
              const request = yield* readable(principal, id)
              const session = yield* sessions.writable(principal, request.session_id)
              yield* requireAll(mergeRequestRules.look, request)
              const asked_at = yield* watches.ask(request.id)
              return { merge_request: toMergeRequestFor(principal, session)(yield* readable(principal, id)), asked_at }
            })
          ),
        list: fn("MergeRequestLooks.list")(function* (principal, workspaceId, filter) {
          const role = yield* access.read(principal, workspaceId)
          return toMergeRequestsFor(principal, { role })(yield* store.listOf(workspaceId, filter))
        }),
        checks: fn("MergeRequestLooks.checks")(function* (principal, id, page) {
          return yield* reads.checks((yield* readable(principal, id)).id, page)
        }),
        log: fn("MergeRequestLooks.log")(function* (principal, checkId) {
          const owner = yield* reads.requestOf(checkId)
          if (owner === undefined) return yield* notFound()
          yield* readable(principal, owner)
          return (yield* logs.find(checkId)) ?? (yield* noLogYet)
        }),
        reviews: fn("MergeRequestLooks.reviews")(function* (principal, id, page) {
          return yield* reads.reviews((yield* readable(principal, id)).id, page)
        }),
        threads: fn("MergeRequestLooks.threads")(function* (principal, id, page) {
          return yield* reads.threads((yield* readable(principal, id)).id, page)
        })
      })
    })
  )
}

const noLogYet = new ReinsError({
  code: "result_not_ready",
  message:
    "Only checks that have failed have a log here, and this one was not read yet. Look at the check again after the next look."
})
