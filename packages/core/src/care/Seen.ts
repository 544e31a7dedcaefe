import { toMillis } from "@reins/base/domain/Timestamp"
import { Forges } from "@reins/machine/forge/Forges"
import { Effect } from "effect"
import { ChangesetStore } from "../changes/ChangesetStore.js"
import type { EarlierDelivery } from "../deliveries/DeliveryRows.js"
import { DeliveryStore } from "../deliveries/DeliveryStore.js"
import { partReads } from "../requests/rows/PartRows.js"
import type { RequestSight } from "../requests/rows/RequestListeners.js"
import { requestReplies } from "../requests/rows/RequestReplies.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { type CareRow, CareStore } from "./CareStore.js"
import type { CareSeen, SeenComment } from "./Decision.js"
import { followsTurns } from "./EveryTurn.js"

/** A forge shows our push within so long. */
const behindMs = 10 * 60_000

/** Gives the function that puts together what a decision is made of. */
export const makeSeen = Effect.gen(function* () {
  const store = yield* CareStore
  const deliveries = yield* DeliveryStore
  const forges = yield* Forges
  const { hasChecks } = yield* partReads
  const replies = yield* requestReplies
  const isUndelivered = yield* makeIsUndelivered

  return Effect.fnUntraced(function* (sight: RequestSight, session: SessionRow, row: CareRow) {
    const { request } = sight
    const head = request.head_sha ?? ""
    const pushed = yield* deliveries.pushedTo(request.session_id, request.head_branch)
    const posts = yield* store.postsOf(request.id)
    const ids = new Set(posts.map(({ forge_id }) => forge_id))
    const isReply = yield* replies.knownOf(request.id)
    const isOurs = (id: string, body: string) =>
      ids.has(id) || posts.some(({ mark }) => body.includes(mark)) || isReply(id, body)
    const seen: CareSeen = {
      isFork: sight.isFork,
      head,
      base: request.base_branch,
      isBehind: isBehind(pushed, head, sight.nowMs),
      isBusy: session.turns.active !== null || session.turns.queued > 0,
      isUndelivered: !followsTurns(row) && (yield* isUndelivered(session, pushed[0])),
      checks:
        request.standing === null || sight.unread.has("checks")
          ? undefined
          : sight.checks.map(({ ended_at, id, key, name, on_base: onBase, optional, started_at, state }) => {
              const at = Date.parse(ended_at ?? started_at ?? "")
              return { id, key, name, onBase, optional, state, endedMs: Number.isNaN(at) ? null : at }
            }),
      baseUnreadSinceMs: sight.baseUnreadSinceMs,
      canRerun: forges.find(request.forge)?.can.has("rerun") === true,
      comments: commentsOf(sight, isOurs),
      isSilent:
        isMissing(sight) ||
        (request.standing?.waiting_for.some(({ kind }) => kind === "no_check_reports") === true &&
          !(yield* hasChecks(request.id))),
      isConflicted: request.standing?.conflicts === "conflicts"
    }
    return seen
  })
})

/** True when the conditions of this head were given up, because a demanded check does not report. */
const isMissing = ({ request: { conditions, head_sha: head } }: RequestSight): boolean =>
  conditions?.state === "given_up" && conditions.reason === "checks_do_not_run" && conditions.head_sha === head

/** True for a head that was there before our newest push, which the forge has not looked at yet. */
const isBehind = (pushed: ReadonlyArray<EarlierDelivery>, head: string, nowMs: number): boolean => {
  const newest = pushed[0]?.delivery
  if (newest === undefined || newest.commit === head || nowMs - toMillis(newest.updated_at) > behindMs) return false
  return newest.parents.includes(head) || pushed.some(({ delivery }) => delivery.commit === head)
}

/** Gives the function that finds changes of people in a session which were not delivered. Changes that a turn of care has left do not count. */
const makeIsUndelivered = Effect.gen(function* () {
  const store = yield* CareStore
  const changesets = yield* ChangesetStore
  return Effect.fnUntraced(function* (session: SessionRow, pushed: EarlierDelivery | undefined) {
    const newest = yield* changesets.newestSealed(session.id)
    if (newest === undefined || pushed === undefined || newest.tree === pushed.tree) return false
    if (newest.id <= pushed.delivery.changeset_id) return false
    return newest.source_turn_id === null || (yield* store.attentionOfTurn(newest.source_turn_id)) === undefined
  })
})

/** The comments that this look has read. Those of an earlier one may be resolved or gone. */
const commentsOf = (
  { reviews, threads, unread, writers }: RequestSight,
  isOurs: (id: string, body: string) => boolean
): ReadonlyArray<SeenComment> => [
  ...(unread.has("threads") ? [] : threads).flatMap(({ comments, resolved }) =>
    comments.map(({ author, body, forge_id, written_at }) => ({
      id: forge_id,
      author: { login: author.login, isBot: author.kind === "bot", mayWrite: writers[author.login] === true },
      isOurs: isOurs(forge_id, body),
      isResolved: resolved === true,
      writtenMs: Date.parse(written_at ?? "") || 0,
      body
    }))
  ),
  ...(unread.has("reviews") ? [] : reviews)
    .filter(({ body, state }) => body.trim() !== "" && (state === "changes_requested" || state === "commented"))
    .map(({ author, body, id, submitted_at }) => ({
      id,
      author: { login: author.login, isBot: author.kind === "bot", mayWrite: writers[author.login] === true },
      isOurs: isOurs(id, body),
      isResolved: false,
      writtenMs: Date.parse(submitted_at ?? "") || 0,
      body
    }))
]
