import type { MergeRequestId } from "@reins/base/domain/Ids"
import { fromMillis, type Timestamp, toMillis } from "@reins/base/domain/Timestamp"
import type { ForgeLimit } from "@reins/machine/forge/ForgeCalls"
import type { ForgeView, ViewPart } from "@reins/machine/forge/ForgeView"
import { Clock, Effect } from "effect"
import { systemActor } from "../../access/Access.js"
import type { Commit } from "../../store/Commit.js"
import { checkLogs, type ReadLog } from "../rows/CheckLogs.js"
import type { MergeRequest } from "../rows/MergeRequest.js"
import { MergeRequestStore } from "../rows/MergeRequestStore.js"
import type { MergeRequestEventType } from "../rows/MergeRequestWrites.js"
import { checkWrites, partReads, partWrites } from "../rows/PartRows.js"
import { differs, isNewer, isOvertaken } from "../rows/Reading.js"
import { RequestListeners, type RequestSight } from "../rows/RequestListeners.js"
import { type Watch, WatchStore } from "../rows/WatchStore.js"
import { nextLookMs } from "./Cadence.js"
import { leftOutOf } from "./LeftOut.js"
import type { SequelEnd } from "./LookSequel.js"
import { type Sighting, standingOf, type Unread } from "./Summing.js"
import type { WatchMemory } from "./WatchMemory.js"

const actor = systemActor("merge_requests")

/** A view, and the memory to keep of it. */
export interface ReadRequest {
  /** The row from before the forge was read, and the time at which that began. */
  readonly before: MergeRequest
  readonly at: Timestamp
  readonly view: ForgeView
  readonly memory: WatchMemory
  /** The logs of failed checks of the head that were not kept before. */
  readonly logs: ReadonlyArray<ReadLog>
  /** The rights of those who have reviewed or written. */
  readonly rights: Sighting["rights"]
  /** True when there are more people to ask about than one look asks for. */
  readonly isAsking: boolean
  /** The decisions that follow, in the commit of the look. */
  readonly sequel: Effect.Effect<SequelEnd, never, Commit>
}

/** A look that was overtaken is made again after so many milliseconds. */
const againMs = 1_000

/** A check is expected to report within so many milliseconds. */
const reportMs = 10 * 60_000

/**
 * Gives the function that ends a look: it writes what differs and tells it, in the commit that gives the watch back. It is true when the commit has
 * begun a merge by conditions.
 */
export const makeRecord = Effect.gen(function* () {
  const store = yield* MergeRequestStore
  const watches = yield* WatchStore
  const listeners = yield* RequestListeners
  const logs = yield* checkLogs
  const writeParts = yield* makeWriteParts
  const { isDelivered, judgedReviewsOf, seenChecksOf, threadsOf } = yield* partReads

  return (watch: Watch, id: MergeRequestId, read: ReadRequest) =>
    watches.finish(
      watch,
      Effect.gen(function* () {
        const nowMs = yield* Clock.currentTimeMillis
        const before = yield* store.lock(id)
        const untouched = { memory: watch.memory, moved_at: watch.moved_at, failures: 0, nextMs: againMs }
        if (before?.state !== "open" || isOutdated(read, before)) return { value: false, looked: untouched }
        const { request } = read.view
        if (request.state === "read" && differs(before, request.value))
          yield* store.keepReading(id, { at: read.at, remote: request.value }, actor)
        else if (!isNewer(before, read.at)) yield* store.keepTime(id, read.at)
        if (request.state === "read" && request.value.state !== "open") return { value: false, looked: untouched }

        const head = request.state === "read" ? request.value.headSha : (before.head_sha ?? "")
        const memory = remembered(read, head, nowMs)
        const { hasChanged, types } = yield* writeParts(before, head, read)
        yield* logs.keep(id, head, read.logs, fromMillis(nowMs))
        const parts = {
          checks: yield* seenChecksOf(id, head),
          reviews: yield* judgedReviewsOf(id),
          threads: yield* threadsOf(id)
        }
        const standing = standingOf({
          headSha: head,
          isDraft: request.state === "read" ? request.value.draft : before.draft,
          isOurs: yield* isDelivered(before.session_id, before.head_branch, head),
          conflicts: memory.conflicts ?? "unknown",
          ...parts,
          rights: read.rights,
          left: memory.left ?? {},
          obstacle: memory.obstacle,
          unread: unreadOf(read.view),
          isLate: nowMs - (memory.headSince ?? nowMs) >= reportMs
        })
        const told = new Set(types)
        if (standing.checks.state !== before.standing?.checks.state && before.standing !== null)
          told.add("merge_request.checks_changed")
        if (standing.conflicts === "conflicts" && before.standing?.conflicts !== "conflicts")
          told.add("merge_request.conflicted")
        const isOther = hasChanged || JSON.stringify(standing) !== JSON.stringify(before.standing)
        if (isOther) yield* store.keepStanding(id, standing, [...told], actor)
        const unread = unreadIn(read.view)
        const seen = { ...parts, ...sightIn(memory, nowMs), unread, request: (yield* store.find(id)) ?? before }
        const wishMs = yield* listeners.looked(seen)
        const { dueMs, hasBegun } = yield* read.sequel
        const rest = restMs(read.view.limit, nowMs)
        if (rest > 0) yield* watches.pause(watch.connection_id, rest, true)
        const nextMs = nextLookMs({
          isPending:
            standing.checks.state === "pending" ||
            standing.conflicts === "unknown" ||
            memory.suspected === head ||
            memory.obstacle !== undefined ||
            memory.baseUnreadSince !== undefined ||
            unread.size > 0,
          untilLateMs: standing.checks.state === "none" ? reportMs - (nowMs - (memory.headSince ?? nowMs)) : undefined,
          movedAgoMs: isOther ? 0 : nowMs - toMillis(watch.moved_at),
          heardAgoMs: watch.heard_at === null ? Number.POSITIVE_INFINITY : nowMs - toMillis(watch.heard_at)
        })
        return {
          value: hasBegun,
          looked: {
            memory: JSON.stringify({ ...memory, seenAt: seen.request.observed_at }),
            moved_at: isOther ? fromMillis(nowMs) : watch.moved_at,
            failures: 0,
            nextMs: Math.max(rest, Math.min(nextMs, dueMs, wishMs ?? nextMs, read.isAsking ? againMs : nextMs))
          }
        }
      })
    )
})

/** Gives the function that writes the parts that differ, and names the events that tell of them. */
const makeWriteParts = Effect.gen(function* () {
  const writes = { ...(yield* checkWrites), ...(yield* partWrites) }

  const writeChecks = (id: MergeRequestId, head: string, { baseChecks, checks }: ForgeView) => {
    if (checks.state === "read") return writes.checks(id, head, checks.value, baseChecks)
    const isKnown = checks.state === "unread" || baseChecks === undefined || baseChecks.state === "unchanged"
    return isKnown ? Effect.succeed(false) : writes.onBase(id, head, baseChecks)
  }

  return Effect.fnUntraced(function* (before: MergeRequest, head: string, { memory, view }: ReadRequest) {
    const { id } = before
    const types: Array<MergeRequestEventType> = []
    const self = memory.self ?? undefined
    if (before.standing !== null && before.head_sha !== head) types.push("merge_request.head_changed")
    if (yield* writeChecks(id, head, view)) types.push("merge_request.checks_changed")
    const steadyHead = before.standing?.checks.head_sha === head ? head : null
    if (view.reviews.state === "read" && (yield* writes.reviews(id, view.reviews.value, { self, steadyHead })))
      types.push("merge_request.reviewed")
    const threads = view.threads.state === "read" ? yield* writes.threads(id, view.threads.value, self) : undefined
    if (threads?.isNews === true) types.push("merge_request.commented")
    return { types, hasChanged: types.length > 0 || threads?.hasChanged === true }
  })
})

/** True when a newer reading has come into the row, and says something else. */
const isOutdated = ({ at, before, view: { request } }: ReadRequest, row: MergeRequest): boolean =>
  request.state === "read"
    ? isOvertaken(row, { at, remote: request.value })
    : isNewer(row, at) &&
      (row.draft !== before.draft || row.head_sha !== before.head_sha || row.base_branch !== before.base_branch)

const unreadIn = (view: ForgeView): RequestSight["unread"] =>
  new Set((["checks", "reviews", "threads"] as const).filter((name) => view[name].state === "unread"))

const sightIn = ({ baseUnreadSince, headSince, isFork, writers = {} }: WatchMemory, nowMs: number) => ({
  baseUnreadSinceMs: baseUnreadSince ?? null,
  writers: Object.fromEntries(Object.entries(writers).map(([login, { may }]) => [login, may === true])),
  isFork: isFork ?? false,
  headAgeMs: nowMs - (headSince ?? nowMs),
  nowMs
})

/** A conflict that the forge only suspects is one when the next look at the same head finds it again. */
const remembered = ({ memory, view }: ReadRequest, head: string, nowMs: number): WatchMemory => {
  const isSame = memory.head === head
  const { baseUnreadSince, obstacle: known, refused: _shown, suspected: before, ...rest } = memory
  const obstacle = view.request.state === "read" ? view.request.value.obstacle : known
  const isSuspected =
    view.request.state === "read" ? view.request.value.conflicts === "suspected" : before !== undefined
  const said = view.request.state === "read" ? view.request.value.conflicts : memory.conflicts
  const conflicts = isSuspected ? (before === head ? "conflicts" : "unknown") : said === "suspected" ? "unknown" : said
  return {
    ...rest,
    head,
    headSince: isSame ? (memory.headSince ?? nowMs) : nowMs,
    conflicts: conflicts ?? "unknown",
    isFork: view.request.state === "read" ? (view.request.value.isFork ?? false) : (memory.isFork ?? false),
    left: leftOutOf(view, isSame ? (memory.left ?? {}) : {}),
    ...(obstacle !== undefined && { obstacle }),
    ...(isSuspected && { suspected: head }),
    ...(view.baseChecks?.state === "unread" && { baseUnreadSince: baseUnreadSince ?? nowMs })
  }
}

const unreadOf = ({ baseChecks, checks, reviews, threads }: ForgeView) => ({
  ...why("checks", checks),
  ...(baseChecks !== undefined && why("baseChecks", baseChecks)),
  ...why("reviews", reviews),
  ...why("threads", threads)
})

const why = <Name extends string, A>(name: Name, part: ViewPart<A>): { readonly [N in Name]?: Unread } =>
  // Boundary: the compiler does not follow a computed name.
  (part.state === "unread" ? { [name]: { kind: part.kind, message: part.message } } : {}) as {
    readonly [N in Name]?: Unread
  }

/** The milliseconds for which the looks of a token wait for their budget, when less than a tenth of it is left. */
const restMs = (limit: ForgeLimit | undefined, nowMs: number): number =>
  limit !== undefined && limit.remaining < limit.limit / 10 ? Math.max(0, limit.resetAt - nowMs) : 0
