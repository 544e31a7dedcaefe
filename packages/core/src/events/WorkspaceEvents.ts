import { fn } from "@reins/base/base/Traced"
import { Event } from "@reins/base/domain/Event"
import type { Principal } from "@reins/base/domain/Principal"
import { Context, Effect, Layer, Schema } from "effect"
import { Access } from "../access/Access.js"
import { Journal } from "../store/Journal.js"
import type { Slice } from "../store/Slices.js"
import * as WorkspaceLog from "../store/WorkspaceLog.js"
import { checkCursor, maxPageBytes, maxSliceBytes, type Unreadable } from "./EventLog.js"
import type { WorkspaceEventPage } from "./EventsApi.js"

export interface WorkspacePageRequest extends WorkspaceLog.WorkspaceFilter {
  /** The position to read on from, exclusive; the first that is kept when undefined. */
  readonly after?: number | undefined
  /** The most events on the page. */
  readonly limit: number
}

/** A page whose events are the JSON texts that readers get. */
export type StoredWorkspacePage = Omit<WorkspaceEventPage, "items"> & {
  readonly entries: ReadonlyArray<WorkspaceLog.WorkspaceEntry>
}

/** Where a reader of a workspace begins, and the newest position. */
export interface Opened {
  readonly after: number
  readonly watermark: number
}

/**
 * Reads the durable log of workspaces: the events of their sessions that a list of sessions needs, in ascending positions. The
 * events of one session come in the order of their `seq`.
 */
export class WorkspaceEvents extends Context.Tag("@reins/core/events/WorkspaceEvents")<
  WorkspaceEvents,
  {
    /**
     * The events after a position. `next_after` is where to read on, also beyond events that the filter left out. Fails with
     * `invalid_cursor` for a position that is negative or beyond the newest event, and with `history_reset_required` for one below what
     * is kept.
     */
    readonly page: (
      principal: Principal,
      workspaceId: string,
      request: WorkspacePageRequest
    ) => Effect.Effect<WorkspaceEventPage, Unreadable>
    /** `page` with the events as they are stored: JSON that is sent on as it is. */
    readonly storedPage: (
      principal: Principal,
      workspaceId: string,
      request: WorkspacePageRequest
    ) => Effect.Effect<StoredWorkspacePage, Unreadable>
    /** The ends of a reading of a workspace that the principal may read, and a check of its position. */
    readonly open: (
      principal: Principal,
      workspaceId: string,
      after: number | undefined
    ) => Effect.Effect<Opened, Unreadable>
    /**
     * At most `limit` events after a position, for readers that have opened the workspace. Of large ones fewer, but one at least. None when
     * events after the position are no longer kept, because a reader must not be led over a gap.
     */
    readonly read: (
      workspaceId: string,
      after: number,
      limit: number
    ) => Effect.Effect<Slice<WorkspaceLog.WorkspaceEntry>>
    /** The ends of the log, with all that is committed. */
    readonly ends: (workspaceId: string) => Effect.Effect<WorkspaceLog.WorkspaceEnds>
    /** Gives positions to events that nobody has read yet, so that the first reader finds little to do. */
    readonly keepUp: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    WorkspaceEvents,
    Effect.gen(function* () {
      const journal = yield* Journal
      const log = yield* WorkspaceLog.make
      const access = yield* Access

      const numbered = Effect.fnUntraced(function* (workspaceId: string) {
        if (yield* log.hasUnnumbered(workspaceId)) yield* journal.commit(log.number(workspaceId))
      })

      const ends = (workspaceId: string) => Effect.zipRight(numbered(workspaceId), log.endsOf(workspaceId))

      const open = fn("WorkspaceEvents.open")(function* (
        principal: Principal,
        workspaceId: string,
        given: number | undefined
      ) {
        yield* access.read(principal, workspaceId)
        const { first_position, head } = yield* ends(workspaceId)
        const after = given ?? first_position - 1
        yield* checkCursor("workspace", after, first_position, head)
        return { after, watermark: head }
      })

      const storedPage = fn("WorkspaceEvents.page")(function* (
        principal: Principal,
        workspaceId: string,
        { after: given, limit, ...filter }: WorkspacePageRequest
      ) {
        const { after, watermark } = yield* open(principal, workspaceId, given)
        const most = { events: limit, bytes: maxPageBytes }
        const { events: entries, isWhole } = yield* log.slice(workspaceId, after, filter, most)
        // An event that was deleted after the look at the position must not pass for left out.
        const { first_position, head } = yield* log.endsOf(workspaceId)
        yield* checkCursor("workspace", after, first_position, head)
        const last = entries.at(-1)?.seq ?? after
        return {
          entries,
          next_after: isWhole ? Math.max(last, watermark) : last,
          has_more: !isWhole,
          event_watermark: Math.max(last, watermark)
        }
      })

      return WorkspaceEvents.of({
        open,
        ends,
        storedPage,
        page: (principal, workspaceId, request) =>
          Effect.flatMap(storedPage(principal, workspaceId, request), ({ entries, ...rest }) =>
            Effect.map(
              Effect.orDie(
                Effect.forEach(entries, ({ envelope, seq }) =>
                  Effect.map(parseEvent(envelope), (event) => ({ position: seq, event }))
                )
              ),
              (items) => ({ items, ...rest })
            )
          ),
        read: Effect.fnUntraced(function* (workspaceId, after, limit) {
          yield* numbered(workspaceId)
          const slice = yield* log.slice(workspaceId, after, {}, { events: limit, bytes: maxSliceBytes })
          // The events of deleted sessions leave gaps. Those that were kept for too long are gone from the beginning.
          const { first_position } = yield* log.endsOf(workspaceId)
          return first_position <= after + 1 ? slice : { events: [], isWhole: true }
        }),
        keepUp: Effect.flatMap(log.unnumbered, (workspaces) =>
          Effect.forEach(workspaces, ({ workspace_id }) => journal.commit(log.number(workspace_id)), { discard: true })
        )
      })
    })
  )
}

const parseEvent = Schema.decodeUnknown(Schema.parseJson(Event))
