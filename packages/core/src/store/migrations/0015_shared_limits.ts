import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/**
 * The limits that the nodes of an installation count together. `request_credit` says when each caller has all of the requests of a minute again, in
 * milliseconds of the database's clock, with the last count that a node has told. It may be lost with a crash of the database, so nobody waits for
 * it to reach a disk. `stream_seats` has a row for each stream that is open on a boot. A placement is `expected` while its node was not told that
 * the session may soon get its first turn.
 */
export const sharedLimits = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const credit = `(
    subject text primary key,
    full_at double precision not null,
    used double precision not null,
    wanted double precision not null,
    granted double precision not null
  )`
  yield* sql.unsafe(
    sql.onDialectOrElse({
      pg: () => `create unlogged table request_credit ${credit}`,
      orElse: () => `create table request_credit ${credit}`
    })
  )
  yield* sql.unsafe(`create table stream_seats (
    id text primary key,
    seat text not null,
    boot_id text not null
  )`)
  yield* sql.unsafe("create index stream_seats_seat on stream_seats (seat)")
  yield* sql.unsafe("alter table placements add column expected integer not null default 0")
  yield* sql.unsafe("create index placements_expected on placements (node_id) where expected = 1")
})
