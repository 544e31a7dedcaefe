import { fn } from "@reins/base/base/Traced"
import type { AccountId, SessionId } from "@reins/base/domain/Ids"
import { Effect, Layer } from "effect"
import { ApiKeyStore } from "../identity/ApiKeyStore.js"
import { sessionHeads } from "../sessions/SessionHeads.js"
import type { WrittenEvent } from "../store/Commit.js"
import { Journal } from "../store/Journal.js"
import { maxOrdinal } from "../store/Keyset.js"
import * as Loop from "../store/Loop.js"
import * as SessionLog from "../store/SessionLog.js"
import { foldWork, isNews, isOfWork, noFacts, viewOf, type WorkFacts, workStateOf, workTypes } from "./WorkFacts.js"
import { factsOf, type WorkRow, workStore } from "./WorkStore.js"

/** An event as a row takes it, from the open commit or from the log. */
type Told = Pick<WrittenEvent, "type" | "payload" | "subjects" | "seq" | "actor" | "recorded_at" | "workspace_id">

/** Events of the log that are read at once, and sessions that are looked at at once. */
const batch = 500

/** The keys whose accounts are remembered. */
const mostKeys = 1_000

/** The part of the time that the event loop is left to others while sessions of earlier releases get their rows. */
const restsPerWork = 3

/** Gives the function that brings the row of a session up to its events, of which these are the newest. */
const makeKeep = Effect.gen(function* () {
  const store = yield* workStore
  const heads = yield* sessionHeads
  const keys = yield* ApiKeyStore
  const log = yield* SessionLog.make

  // A key never changes its account.
  const known = new Map<string, AccountId>()
  const authorOf = Effect.fnUntraced(function* ({ actor }: Told) {
    // Boundary: the id of an actor is that of its kind.
    if (actor.kind === "account") return actor.id as AccountId
    if (actor.kind !== "api_key") return null
    const account = known.get(actor.id) ?? (yield* keys.accountOf(actor.id)) ?? null
    if (known.size >= mostKeys) known.clear()
    if (account !== null) known.set(actor.id, account)
    return account
  })

  const withEvent = Effect.fnUntraced(function* (before: Standing, event: Told) {
    const facts = foldWork(before.facts, event)
    const isByPerson = event.actor.kind === "account" || event.actor.kind === "api_key"
    const state = workStateOf(facts)
    const moved = {
      facts,
      row: {
        ...before.row,
        workspace_id: event.workspace_id,
        state,
        view: viewOf(facts, state),
        since: state === before.row.state && before.row.since !== "" ? before.row.since : event.recorded_at,
        seq: event.seq
      }
    }
    if (!isNews(event.type, isByPerson)) return moved
    const news_by = isByPerson ? yield* authorOf(event) : null
    const { news_by: last, news_seq, other_seq } = before.row
    const other = last === news_by ? other_seq : news_seq
    return { ...moved, row: { ...moved.row, news_seq: event.seq, news_by, other_seq: other } }
  })

  /** A standing with all events of the log behind it. */
  const fromLog = Effect.fnUntraced(function* (id: SessionId, from: Standing) {
    let standing = from
    for (let isWhole = false; !isWhole; ) {
      const rows = yield* log.ofTypes(id, standing.row.seq, workTypes, batch)
      for (const { envelope } of rows) standing = yield* withEvent(standing, toldBy(envelope))
      isWhole = rows.length < batch
    }
    return standing
  })

  /** Where a session stands whose events are no longer kept. */
  const withoutLog = Effect.fnUntraced(function* (id: SessionId, before: Standing) {
    const [head] = yield* heads.some([id])
    if (head === undefined) return before
    const facts = { ...before.facts, lifecycle: head.lifecycle }
    const state = workStateOf(facts)
    const { created_at: since, workspace_id } = head
    return { facts, row: { ...before.row, workspace_id, state, view: viewOf(facts, state), since } }
  })

  return fn("WorkRows.keep")(function* (id: SessionId, events: ReadonlyArray<Told>, isOld = false) {
    const row = yield* store.find(id, events[0]?.seq ?? maxOrdinal)
    const isBehind = row === undefined || Number(row.missed) === 1 || events.length === 0
    let standing: Standing =
      row === undefined ? { facts: noFacts(yield* heads.isChild(id)), row: newRow } : { facts: factsOf(row), row }
    if (isBehind) standing = yield* fromLog(id, standing)
    else for (const event of events) standing = yield* withEvent(standing, event)
    const { facts, row: next } = standing.row.workspace_id === null ? yield* withoutLog(id, standing) : standing
    if (next.workspace_id === null) return
    const { missed: _, workspace_id, ...columns } = next
    // Nobody has a mark of before there were marks, and all would be new.
    const seen = isOld && row === undefined ? { news_seq: 0, news_by: null, other_seq: 0 } : {}
    yield* store.put({ ...columns, ...seen, workspace_id, session_id: id, facts: JSON.stringify(facts) })
  })
})

/** The facts of a session, and its row without them. */
interface Standing {
  readonly facts: WorkFacts
  readonly row: Omit<WorkRow, "session_id" | "facts" | "workspace_id"> & {
    /** Null before the first event. */
    readonly workspace_id: WorkRow["workspace_id"] | null
    readonly missed?: number
  }
}

const newRow: Standing["row"] = {
  workspace_id: null,
  state: "idle",
  view: "open",
  since: "" as WorkRow["since"],
  seq: 0,
  news_seq: 0,
  news_by: null,
  other_seq: 0
}

/** The text of an event holds its subjects beside its other members. */
const toldBy = (envelope: string): Told => {
  const event = JSON.parse(envelope)
  return { ...event, subjects: event }
}

/** Keeps the row of each session in the commit of its events. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const journal = yield* Journal
    const store = yield* workStore
    const keep = yield* makeKeep
    yield* journal.hear({
      wants: (type) => isOfWork(type) || type === deletion,
      heard: Effect.fnUntraced(function* (events) {
        const bySession = new Map<SessionId, Array<WrittenEvent>>()
        for (const event of events) bySession.set(event.session_id, [...(bySession.get(event.session_id) ?? []), event])
        for (const [id, told] of bySession) yield* told.at(-1)?.type === deletion ? store.remove([id]) : keep(id, told)
      })
    })
  })
)

const deletion = "session.deleted"

/**
 * Gives a row to each session that an earlier release has made or moved, or that has had no turn yet, at the start and then every hour. Each is a
 * commit of its own, and reads the log of the session.
 */
export const catchingUp = Layer.scopedDiscard(
  Effect.gen(function* () {
    const catchUp = yield* makeWorkCatchUp
    yield* Loop.start({ failure: "the work of older sessions could not be read", everyMs: 3_600_000, round: catchUp })
  })
)

/** Brings all rows up to their logs. */
export const makeWorkCatchUp = Effect.gen(function* () {
  const journal = yield* Journal
  const store = yield* workStore
  const heads = yield* sessionHeads
  const keep = yield* makeKeep
  return Effect.gen(function* () {
    let after: string | undefined = ""
    while (after !== undefined) {
      const startedAt = performance.now()
      const { gone, ids, last }: Effect.Effect.Success<ReturnType<typeof heads.next>> = yield* heads.next(after, batch)
      const behind = yield* store.leftBehind(ids)
      for (const id of behind) yield* journal.commit(Effect.zipRight(journal.held(id), keep(id, [], true)))
      if (gone.length > 0) yield* journal.commit(store.remove(gone))
      if (last !== undefined) yield* Effect.sleep(restsPerWork * (performance.now() - startedAt))
      after = last
    }
  })
})
