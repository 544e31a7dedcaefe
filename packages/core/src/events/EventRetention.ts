import { CoreConfig } from "@reins/base/base/CoreConfig"
import { fromNow, type Timestamp } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import { Journal } from "../store/Journal.js"
import * as SessionLog from "../store/SessionLog.js"
import * as WorkspaceLog from "../store/WorkspaceLog.js"

/** Deletes the history of sessions when its time is over. */
export class EventRetention extends Context.Tag("@reins/core/events/EventRetention")<
  EventRetention,
  {
    /**
     * Deletes the events of sessions that are closed and have had no event for as long as the limit says, all of a session at once.
     * The session keeps the `seq` that its events go on from. The event that tells of the deletion of a session goes too. The stream of a workspace loses all that is older than the limit, so that
     * no event of it is deleted before its place in the stream. Without a limit nothing is deleted. Each session and each workspace is a
     * commit of its own.
     */
    readonly purge: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    EventRetention,
    Effect.gen(function* () {
      const journal = yield* Journal
      const log = yield* SessionLog.make
      const workspaceLog = yield* WorkspaceLog.make
      const days = (yield* CoreConfig).limits.eventRetentionDays

      const purgeFrom = (id: string, before: Timestamp): Effect.Effect<void> =>
        Effect.gen(function* () {
          const sessions = yield* log.closedAfter(id, batch)
          yield* Effect.forEach(
            sessions.filter(({ envelope }) => recordedAt(envelope) < before),
            (session) => journal.commit(log.forget(session.id, session.event_watermark)),
            { discard: true }
          )
          const last = sessions.at(-1)
          if (last !== undefined && sessions.length === batch) yield* purgeFrom(last.id, before)
        })

      const purgeWorkspaces = (before: Timestamp) =>
        Effect.flatMap(workspaceLog.keptFromBefore(before), (workspaces) =>
          Effect.forEach(workspaces, ({ workspace_id }) => journal.commit(workspaceLog.forget(workspace_id, before)), {
            discard: true
          })
        )

      const purgeDeleted = (before: Timestamp): Effect.Effect<void> =>
        Effect.flatMap(journal.commit(log.forgetDeleted(before, batch)), (forgotten) =>
          forgotten === 0 ? Effect.void : purgeDeleted(before)
        )

      return EventRetention.of({
        purge:
          days === null
            ? Effect.void
            : Effect.flatMap(fromNow(-days * dayMs), (before) =>
                Effect.all([purgeWorkspaces(before), purgeFrom("", before), purgeDeleted(before)], { discard: true })
              )
      })
    })
  )
}

/** Sessions that are looked at by one statement. */
const batch = 100
const dayMs = 24 * 60 * 60 * 1000

const recordedAt = (envelope: string): string => JSON.parse(envelope).recorded_at
