import { fn } from "@reins/base/base/Traced"
import type { SessionId } from "@reins/base/domain/Ids"
import type { PageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { Access, type Denied, type Unseen } from "../access/Access.js"
import { WorkspaceEvents } from "../events/WorkspaceEvents.js"
import { type SessionHead, sessionHeads } from "../sessions/SessionHeads.js"
import { Sessions } from "../sessions/Sessions.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import * as Keyset from "../store/Keyset.js"
import type { SessionSeen, WorkItem, WorkList, WorkView } from "./Work.js"
import { toItem, untouchedItem } from "./WorkItems.js"
import { mostLooked, type SeenRow, seenMarks, type WorkPlace, workLists } from "./WorkLists.js"

/** The sessions that a caller wants to see. */
export interface WorkRequest extends PageRequest {
  /** `open`, which is all but the archived ones, when absent. */
  readonly view?: WorkView | "unread"
  /** These sessions alone, in whatever view. */
  readonly sessionIds?: ReadonlyArray<SessionId>
}

/** Sessions of a workspace by what they wait for, and the marks of accounts that have seen them. */
export class Works extends Context.Tag("@reins/core/work/Works")<
  Works,
  {
    /** The sessions by what they wait for. The caller is an account, whose marks decide what is new. */
    readonly list: (
      principal: Principal,
      workspaceId: string,
      request: WorkRequest
    ) => Effect.Effect<WorkList, Unseen | ReinsError<"invalid_cursor">>
    /** Notes that the account has seen the events of a session up to one. Marks never go back, and never beyond the newest event. */
    readonly see: (principal: Principal, sessionId: string, seq: number) => Command<SessionSeen, Denied>
    /** Makes a session new to the account again. */
    readonly unsee: (principal: Principal, sessionId: string) => Command<SessionSeen, Denied>
  }
>() {
  static readonly layer = Layer.effect(
    Works,
    Effect.gen(function* () {
      const access = yield* Access
      const events = yield* WorkspaceEvents
      const heads = yield* sessionHeads
      const journal = yield* Journal
      const sessions = yield* Sessions
      const lists = yield* workLists
      const marks = yield* seenMarks

      /** The rows of the page and one more, each with its session. */
      const found = Effect.fnUntraced(function* (
        { accountId }: Principal,
        workspaceId: string,
        view: NonNullable<WorkRequest["view"]>,
        { limit, place }: { readonly limit: number; readonly place: WorkPlace }
      ) {
        const rows = yield* view === "unread"
          ? lists.unread(accountId, workspaceId, place, limit)
          : view === "open"
            ? lists.shown(accountId, workspaceId, place, limit)
            : lists.ofView(accountId, workspaceId, view, place, limit)
        const items = itemsOf(rows, yield* heads.some(rows.map(({ session_id }) => session_id)))
        if (view !== "open") return items
        const untouched = (yield* heads.untouched(workspaceId, mostLooked))
          .map(untouchedItem)
          .filter((item) => isBehind(item, place))
        // One that was archived and opened again has a row, and had no turn.
        const known = yield* lists.having(untouched.map(({ session_id }) => session_id))
        const others = untouched.filter(({ session_id }) => !known.has(session_id))
        return others.length === 0 ? items : [...items, ...others].sort(byNewest).slice(0, limit)
      })

      /** Some sessions of a workspace, also those that have no row. */
      const named = Effect.fnUntraced(function* (
        { accountId }: Principal,
        workspaceId: string,
        ids: ReadonlyArray<SessionId>
      ) {
        const rows = yield* lists.some(accountId, workspaceId, ids)
        const found = yield* heads.some(ids)
        const known = new Set(rows.map(({ session_id }) => session_id))
        const others = found.filter(({ id, workspace_id }) => workspace_id === workspaceId && !known.has(id))
        return [...itemsOf(rows, found), ...others.map(untouchedItem)].sort(byNewest)
      })

      const seenOf = Effect.fnUntraced(function* ({ accountId }: Principal, workspaceId: string, id: SessionId) {
        const [row] = yield* lists.some(accountId, workspaceId, [id])
        const seq = (yield* marks.seenBy(accountId, id)) ?? null
        return { session_id: id, seq, unread: row?.unread ?? false }
      })

      return Works.of({
        list: fn("Works.list")(function* (principal, workspaceId, request) {
          yield* access.read(principal, workspaceId)
          const { sessionIds, view = "open" } = request
          const place = yield* placeOf(request.cursor)
          const limit = sessionIds === undefined ? Keyset.pageLimit(request) : sessionIds.length
          // Read first: an event after it may be in the list, and comes by the stream as well.
          const { head } = yield* events.ends(workspaceId)
          const items =
            sessionIds === undefined
              ? yield* found(principal, workspaceId, view, { limit: limit + 1, place })
              : yield* named(principal, workspaceId, sessionIds)
          const { next_cursor, items: page } = Keyset.page(items, limit, cursorOf)
          return {
            items: page,
            counts: yield* lists.counts(principal.accountId, workspaceId),
            watermark: head,
            next_cursor: sessionIds === undefined ? next_cursor : null
          }
        }),
        see: (principal, sessionId, seq) =>
          journal.command(
            "Works.see",
            { by: principal, about: { type: "session", id: sessionId } },
            Effect.gen(function* () {
              const session = yield* sessions.get(principal, sessionId)
              yield* marks.see(principal.accountId, session.id, Math.min(seq, session.event_watermark))
              return yield* seenOf(principal, session.workspace_id, session.id)
            })
          ),
        unsee: (principal, sessionId) =>
          journal.command(
            "Works.unsee",
            { by: principal, about: { type: "session", id: sessionId } },
            Effect.gen(function* () {
              const session = yield* sessions.get(principal, sessionId)
              yield* marks.unsee(principal.accountId, session.id)
              return yield* seenOf(principal, session.workspace_id, session.id)
            })
          )
      })
    })
  )
}

/** Rows with their sessions. One that was deleted meanwhile is left out. */
const itemsOf = (rows: ReadonlyArray<SeenRow>, heads: ReadonlyArray<SessionHead>): ReadonlyArray<WorkItem> => {
  const byId = new Map(heads.map((head) => [head.id, head]))
  return rows.flatMap((row) => {
    const head = byId.get(row.session_id)
    return head === undefined ? [] : [toItem(row, head)]
  })
}

/** Times have the same number of digits, so that texts sort as they do. */
const byNewest = (one: WorkItem, other: WorkItem): number => (isBehind(one, other) ? 1 : -1)

const isBehind = ({ session_id, since }: WorkItem, place: WorkPlace): boolean =>
  since < place.since || (since === place.since && session_id < place.session_id)

/** Above every time and every id, in every collation. */
const begin: WorkPlace = { since: "zzzz", session_id: "zzzz" }

const separator = "-at-"

/** Cursors take letters, digits, `_` and `-`. */
const cursorOf = ({ session_id, since }: WorkItem): string => `${session_id}${separator}${Date.parse(since)}`

const placeOf = (cursor: string | undefined): Effect.Effect<WorkPlace, ReinsError<"invalid_cursor">> =>
  Effect.flatMap(Keyset.decode(cursor), (key) => {
    if (key === undefined) return Effect.succeed(begin)
    const [session_id, millis] = key.split(separator)
    const time = new Date(Number(millis))
    return session_id === undefined || millis === undefined || Number.isNaN(time.getTime())
      ? Effect.fail(Keyset.invalidCursor)
      : Effect.succeed({ session_id, since: time.toISOString() })
  })
