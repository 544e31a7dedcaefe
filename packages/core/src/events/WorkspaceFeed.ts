import { fn } from "@reins/base/base/Traced"
import { Event, type WorkspaceEvent } from "@reins/base/domain/Event"
import type { Principal } from "@reins/base/domain/Principal"
import { Context, Effect, Layer, Schema, Stream } from "effect"
import { workspaceTopic } from "../store/Bell.js"
import { isWanted, type WorkspaceEntry, type WorkspaceFilter } from "../store/WorkspaceLog.js"
import type { Sink } from "./Audience.js"
import { Audiences, framesOf, readAhead, type Subscription } from "./Audiences.js"
import type { Unreadable } from "./EventLog.js"
import { WorkspaceEvents } from "./WorkspaceEvents.js"

/** The events of a workspace that a reader wants: those after a position, and of these only what the filter picks. */
export interface WorkspaceFeedRequest extends WorkspaceFilter {
  /** The position to read on from, exclusive; the first that is kept when undefined. */
  readonly after?: number | undefined
}

/** Follows workspaces as they go, as `EventFeed` follows sessions. A reader gets every event once and in order. */
export class WorkspaceFeed extends Context.Tag("@reins/core/events/WorkspaceFeed")<
  WorkspaceFeed,
  {
    /**
     * Delivers to a sink, which must not throw. The `seq` of its frames is the position. `batch` events of the log are read at once to catch
     * up. The caller closes the subscription. Fails with `not_found` for a workspace that the principal may not see, with `invalid_cursor` for
     * a position that is negative or beyond the newest event, and with `history_reset_required` for one below the events that are kept.
     */
    readonly subscribe: (
      principal: Principal,
      workspaceId: string,
      request: WorkspaceFeedRequest & { readonly batch: number },
      sink: Sink<WorkspaceEntry>
    ) => Effect.Effect<Subscription, Unreadable>
    /**
     * The events of a workspace as a stream that never ends: the log from the position, then each event as it is committed. A slow reader
     * holds up nobody and misses nothing. Fails at its begin as `subscribe` does.
     */
    readonly stream: (
      principal: Principal,
      workspaceId: string,
      request: WorkspaceFeedRequest
    ) => Stream.Stream<WorkspaceEvent, Unreadable>
  }
>() {
  static readonly layer = Layer.scoped(
    WorkspaceFeed,
    Effect.gen(function* () {
      const log = yield* WorkspaceEvents
      const audiences = yield* Audiences.make({ read: log.read, topicOf: workspaceTopic })

      const subscribe = fn("WorkspaceFeed.subscribe")(function* (
        principal: Principal,
        workspaceId: string,
        { after: given, batch, ...filter }: Parameters<WorkspaceFeed["Type"]["subscribe"]>[2],
        sink: Sink<WorkspaceEntry>
      ) {
        const { after, watermark } = yield* log.open(principal, workspaceId, given)
        const wantsAll = Object.values(filter).every((part) => part === undefined)
        return audiences.subscribe(workspaceId, watermark, {
          wants: wantsAll ? undefined : (entry) => isWanted(filter, entry),
          deltas: undefined,
          batch,
          sink,
          cursor: after
        })
      })

      return WorkspaceFeed.of({
        subscribe,
        stream: (principal, workspaceId, request) =>
          Stream.mapEffect(
            framesOf<WorkspaceEntry, Unreadable>((sink) =>
              subscribe(principal, workspaceId, { ...request, batch: readAhead }, sink)
            ),
            ({ event: { envelope, seq } }) =>
              Effect.orDie(Effect.map(parseEvent(envelope), (event) => ({ position: seq, event })))
          )
      })
    })
  )
}

const parseEvent = Schema.decodeUnknown(Schema.parseJson(Event))
