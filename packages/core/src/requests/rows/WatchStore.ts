import { Boot } from "@reins/base/base/Boot"
import type { ConnectionId, MergeRequestId } from "@reins/base/domain/Ids"
import { now, type Timestamp, toMillis } from "@reins/base/domain/Timestamp"
import { Context, Data, Effect, Layer } from "effect"
import { looksTopic } from "../../store/Bell.js"
import type { Commit } from "../../store/Commit.js"
import { Database } from "../../store/Database.js"
import { Journal } from "../../store/Journal.js"

/** The hold of this process on a watch has run out, or the watch has ended. Nothing was written. */
export class WatchLost extends Data.TaggedError("WatchLost") {}

/** A merge request that is looked at. */
export interface Watch {
  readonly merge_request_id: MergeRequestId
  readonly connection_id: ConnectionId
  /** The number of rings so far. */
  readonly rung: number
  /** The time of the last ring by a hook. */
  readonly heard_at: Timestamp | null
  /** The looks that have failed one after another. */
  readonly failures: number
  /** The last time at which something differed. */
  readonly moved_at: Timestamp
  /** JSON of the last look. */
  readonly memory: string
}

/** The columns that a look leaves behind, and the milliseconds until the next one. */
export interface Looked extends Pick<Watch, "failures" | "memory" | "moved_at"> {
  readonly nextMs: number
}

/** The rows of watches: one for each open merge request. A process holds a watch while it looks. */
export class WatchStore extends Context.Tag("@reins/core/requests/rows/WatchStore")<
  WatchStore,
  {
    /** Has a merge request looked at from now on. */
    readonly begin: (id: MergeRequestId, connectionId: ConnectionId) => Effect.Effect<void, never, Commit>
    /** Ends that. */
    readonly end: (id: MergeRequestId) => Effect.Effect<void, never, Commit>
    /** Makes a look due, as soon as a pause of the forge lets it be. `isHeard` is true for the ring of a hook. False when there is no watch. */
    readonly ring: (id: MergeRequestId, isHeard: boolean) => Effect.Effect<boolean, never, Commit>
    /** Holds up to `limit` watches that are due, the longest first. */
    readonly claim: (limit: number) => Effect.Effect<ReadonlyArray<Watch>>
    /** The milliseconds until the next watch is due; undefined when there is none. */
    readonly dueIn: Effect.Effect<number | undefined>
    /** Rings for a caller, and gives the time: a look that did not begin before it is the one that was asked for. */
    readonly ask: (id: MergeRequestId) => Effect.Effect<Timestamp, never, Commit>
    /** Commits a command and the end of a look while this process holds the watch. A ring since its claim makes the next one due at once. */
    readonly finish: <A, E>(
      watch: Watch,
      command: Effect.Effect<{ readonly looked: Looked; readonly value: A }, E, Commit>
    ) => Effect.Effect<A, E | WatchLost>
    /** Gives a hold back without a look. */
    readonly release: (id: MergeRequestId) => Effect.Effect<void>
    /** Has no merge request of a connection looked at for so long. With `ringsEnd` a ring ends the wait for its own. */
    readonly pause: (
      connectionId: ConnectionId,
      millis: number,
      ringsEnd: boolean
    ) => Effect.Effect<void, never, Commit>
  }
>() {
  static readonly layer = Layer.effect(
    WatchStore,
    Effect.gen(function* () {
      const { all, clock, first, run, skipLocked, sql } = yield* Database
      const journal = yield* Journal
      const { alone, bootId } = yield* Boot
      const columns = sql.literal("merge_request_id, connection_id, rung, heard_at, failures, moved_at, memory")
      // A process that works alone finds only what ended processes held.
      const isFree = Effect.map(clock.at(0), (at) =>
        sql.or([sql`holder is null`, sql`held_until < ${at}`, sql`(1 = ${alone ? 1 : 0} and holder <> ${bootId})`])
      )

      const ring = Effect.fnUntraced(function* (id: MergeRequestId, isHeard: boolean) {
        const at = yield* clock.at(0)
        const heard = isHeard ? sql`, heard_at = ${at}` : sql``
        const rung = yield* first(sql<{ rung: number }>`update watches
          set rung = rung + 1, look_at = case when paused_until > ${at} then paused_until else ${at} end${heard}
          where merge_request_id = ${id} returning rung`)
        if (rung !== undefined) yield* journal.ringAfterCommit(looksTopic)
        return rung !== undefined
      })

      return WatchStore.of({
        begin: Effect.fnUntraced(function* (id, connectionId) {
          yield* run(sql`insert into watches (merge_request_id, connection_id, look_at, rung, failures, moved_at, memory)
            values (${id}, ${connectionId}, ${yield* clock.at(0)}, 0, 0, ${yield* now}, '{}') on conflict do nothing`)
          yield* journal.ringAfterCommit(looksTopic)
        }),
        end: (id) => run(sql`delete from watches where merge_request_id = ${id}`),
        ring,
        ask: (id) => Effect.zipRight(ring(id, false), now),
        claim: Effect.fnUntraced(function* (limit) {
          return yield* all(sql<Watch>`update watches set holder = ${bootId}, held_until = ${yield* clock.at(holdMs)}
            where merge_request_id in (select merge_request_id from watches
              where look_at <= ${yield* clock.at(0)} and ${yield* isFree} order by look_at limit ${limit}${skipLocked})
            returning ${columns}`)
        }),
        dueIn: Effect.gen(function* () {
          const row = yield* first(sql<{ at: Timestamp | null; now: Timestamp }>`select min(look_at) as at,
            ${yield* clock.at(0)} as now from watches where ${yield* isFree}`)
          return row === undefined || row.at === null ? undefined : toMillis(row.at) - toMillis(row.now)
        }),
        finish: (watch, command) =>
          journal.commit(
            Effect.gen(function* () {
              // The statement locks the row, so no other process takes it until the commit is through.
              const held = yield* first(sql<{ rung: number }>`update watches set holder = null, held_until = null
                where merge_request_id = ${watch.merge_request_id} and holder = ${bootId} returning rung`)
              if (held === undefined) return yield* new WatchLost()
              const { looked, value } = yield* command
              const { nextMs, ...columns } = looked
              const wait = held.rung === watch.rung ? nextMs : 0
              yield* run(sql`update watches set ${sql.update({ ...columns })}, look_at = ${yield* clock.at(wait)}
                where merge_request_id = ${watch.merge_request_id}`)
              if (wait < soonMs) yield* journal.ringAfterCommit(looksTopic)
              return value
            })
          ),
        release: (id) =>
          run(sql`update watches set holder = null, held_until = null
            where merge_request_id = ${id} and holder = ${bootId}`),
        pause: Effect.fnUntraced(function* (connectionId, millis, ringsEnd) {
          const until = yield* clock.at(millis)
          const pausedUntil = ringsEnd ? sql`` : sql`paused_until = ${until}, `
          yield* run(sql`update watches set ${pausedUntil}look_at = ${until}
            where connection_id = ${connectionId} and look_at < ${until}`)
        })
      })
    })
  )
}

/** A hold ends after so long, in milliseconds. A look takes less. */
const holdMs = 90_000

/** A next look that is nearer than this wakes the watchers. */
const soonMs = 15_000
