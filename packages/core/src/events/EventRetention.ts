import { Context, Effect, Layer } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import type { SessionId } from "../domain/Ids.js"
import { fromNow, type Timestamp } from "../domain/Timestamp.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"

const batch = 100
const dayMs = 24 * 60 * 60 * 1000

/** How long the history of sessions is kept. */
export class EventRetention extends Context.Tag("@reins/core/events/EventRetention")<
  EventRetention,
  {
    /**
     * Deletes the events of sessions that are closed and have had no event for as long as the limit says, all of a session at once.
     * The session keeps the `seq` that its events go on from. Without a limit nothing is deleted.
     */
    readonly purge: Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    EventRetention,
    Effect.gen(function* () {
      const db = yield* Database
      const journal = yield* Journal
      const { sql } = db
      const days = (yield* CoreConfig).limits.eventRetentionDays

      const closedAfter = (id: string) =>
        db.all(sql<Closed>`select s.id, s.event_watermark, e.envelope from sessions s
          join events e on e.session_id = s.id and e.seq = s.event_watermark
          where s.lifecycle = 'closed' and s.has_events = 1 and s.id > ${id}
          order by s.id limit ${batch}`)

      /** Nothing happens to a session that had an event meanwhile. */
      const forget = ({ event_watermark: last, id }: Closed) =>
        journal.commit(
          Effect.gen(function* () {
            const session = yield* db.first(
              sql<{ id: string }>`update sessions set first_event_seq = ${last + 1}, has_events = 0
                where id = ${id} and event_watermark = ${last} returning id`
            )
            if (session !== undefined)
              yield* db.run(sql`delete from events where session_id = ${id} and seq <= ${last}`)
          })
        )

      const purgeFrom = (id: string, before: Timestamp): Effect.Effect<void> =>
        Effect.gen(function* () {
          const sessions = yield* closedAfter(id)
          yield* Effect.forEach(
            sessions.filter(({ envelope }) => recordedAt(envelope) < before),
            forget,
            { discard: true }
          )
          const last = sessions.at(-1)
          if (last !== undefined && sessions.length === batch) yield* purgeFrom(last.id, before)
        })

      return EventRetention.of({
        purge: days === null ? Effect.void : Effect.flatMap(fromNow(-days * dayMs), (before) => purgeFrom("", before))
      })
    })
  )
}

interface Closed {
  readonly id: SessionId
  readonly event_watermark: number
  /** Of the newest event. */
  readonly envelope: string
}

const recordedAt = (envelope: string): string => JSON.parse(envelope).recorded_at
