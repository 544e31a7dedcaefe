import { Boot } from "@reins/base/base/Boot"
import { Context, Data, Effect, Layer } from "effect"
import { followersTopic, followerTopic } from "../store/Bell.js"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import { Journal } from "../store/Journal.js"

/** Another process follows for the key, or nobody is to do so any more. Nothing was written. */
export class HoldLost extends Data.TaggedError("HoldLost") {}

/** Two positions in the log of a workspace: up to the first one all events were taken, and now up to the second. */
export interface Move {
  readonly from: number
  readonly to: number
}

/** The positions of one follower, by the keys that it follows for. */
export interface Positions {
  /** Has the log followed for a key, from behind a position. A key that is followed for keeps its own. */
  readonly begin: (key: string, position: number) => Effect.Effect<void, never, Commit>
  /** Ends that. A process that holds the key writes nothing more for it. */
  readonly end: (key: string) => Effect.Effect<void, never, Commit>
  /** Has the follower look at the key at once, because of something that is no event: the key has come, gone or changed. */
  readonly wake: (key: string) => Effect.Effect<void, never, Commit>
  /** The position up to which the events were taken; undefined for a key that is not followed for. */
  readonly find: (key: string) => Effect.Effect<number | undefined>
  /** Takes or keeps the hold on a key, and gives its position. Undefined when another process holds it, or it is not followed for. */
  readonly hold: (key: string) => Effect.Effect<number | undefined>
  /** Gives the hold back, so that another process need not wait. */
  readonly release: (key: string) => Effect.Effect<void>
  /** Commits a command if this process holds the key. A move is in the same commit, and the position has to be where it begins. */
  readonly commit: <A, E>(
    key: string,
    command: Effect.Effect<A, E, Commit>,
    move?: Move
  ) => Effect.Effect<A, E | HoldLost>
}

/** The rows of followers, by the name of the follower. One process at a time holds a row, and what another one still writes is refused. */
export class FollowerStore extends Context.Tag("@reins/core/events/FollowerStore")<
  FollowerStore,
  (name: string) => Positions
>() {
  static readonly layer = Layer.effect(
    FollowerStore,
    Effect.gen(function* () {
      const { clock, first, run, sql } = yield* Database
      const journal = yield* Journal
      const { alone, bootId } = yield* Boot

      return (name) => {
        const isOf = (key: string) => sql`name = ${name} and key = ${key}`
        return {
          begin: (key, position) =>
            run(sql`insert into followers ${sql.insert({ name, key, position })} on conflict do nothing`),
          end: (key) => run(sql`delete from followers where ${isOf(key)}`),
          wake: (key) =>
            Effect.zipRight(
              journal.ringAfterCommit(followersTopic(name)),
              journal.ringAfterCommit(followerTopic(name, key))
            ),
          find: (key) =>
            Effect.map(
              first(sql<{ position: number }>`select position from followers where ${isOf(key)}`),
              (row) => row?.position
            ),
          hold: Effect.fnUntraced(function* (key) {
            // A process that works alone finds only what ended processes held.
            const isFree = sql.or([
              sql`holder is null`,
              sql`holder = ${bootId}`,
              sql`held_until < ${yield* clock.at(0)}`,
              sql`1 = ${alone ? 1 : 0}`
            ])
            const row = yield* first(sql<{ position: number }>`update followers
              set holder = ${bootId}, held_until = ${yield* clock.at(holdMs)} where ${isOf(key)} and ${isFree} returning position`)
            return row?.position
          }),
          release: (key) =>
            run(sql`update followers set holder = null, held_until = null where ${isOf(key)} and holder = ${bootId}`),
          commit: (key, command, move) =>
            journal.commit(
              Effect.gen(function* () {
                // The statement locks the row, so no other process takes it until the commit is through.
                const moved = move === undefined ? sql`` : sql`, position = ${move.to}`
                const isThere = move === undefined ? sql`` : sql` and position = ${move.from}`
                const row = yield* first(sql<{ name: string }>`update followers
                  set held_until = ${yield* clock.at(holdMs)}${moved}
                  where ${isOf(key)} and holder = ${bootId}${isThere} returning name`)
                return row === undefined ? yield* new HoldLost() : yield* command
              })
            )
        }
      }
    })
  )
}

/** A hold ends when it was not renewed for so long, in milliseconds. */
export const holdMs = 30_000
