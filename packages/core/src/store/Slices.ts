import type { SqlClient, Statement } from "@effect/sql"
import { Effect } from "effect"
import type { Database } from "./Database.js"
import type { Query } from "./Query.js"

/** An entry of a log: its place, and the JSON text that goes over the wire. */
export interface LogEntry {
  /** The place in the log. A later entry has a greater one. */
  readonly seq: number
  readonly type: string
  readonly envelope: string
}

/** Some of the entries after a cursor. `isWhole` says that no other entries follow. */
export interface Slice<Entry> {
  readonly events: ReadonlyArray<Entry>
  readonly isWhole: boolean
}

/** The most that a slice holds: so many entries, and no more of them once those before take so many bytes. */
export interface SliceLimit {
  readonly events: number
  readonly bytes: number
}

/** The entries that a slice is cut from. */
export interface Slicing {
  /** Names of columns, `seq` and `envelope` among them. */
  readonly columns: string
  /** A select of these columns, without an order. */
  readonly from: Statement.Fragment
  readonly events: number
  readonly bytes: number
}

type Sql = SqlClient.SqlClient
type Found<Entry> = Entry & { readonly found: number }

/**
 * Reads the first entries in their order, or nothing when they take more than `bytes`. `found` tells how many there are, up to one more than
 * the limit.
 */
export const sliceOf = <Entry extends object>(sql: Sql, { bytes, columns, events, from }: Slicing) =>
  sql<Found<Entry>>`with first as (${from} order by seq limit ${events} + 1)
    select ${sql.literal(columns)}, (select cast(count(*) as integer) from first) as found from first
    where (select sum(octet_length(envelope)) from first) <= ${bytes} order by seq limit ${events}`

/** The same as `sliceOf` for entries that exceed the bytes: it stops when those before take `bytes`. It costs three times as much. */
const largeSliceOf = <Entry extends object>(sql: Sql, { bytes, columns, events, from }: Slicing) =>
  sql<Found<Entry>>`select ${sql.literal(columns)}, found from (
    select ${sql.literal(columns)}, cast(count(*) over () as integer) as found,
      sum(octet_length(envelope)) over (order by seq rows unbounded preceding) - octet_length(envelope) as preceding
    from (${from} order by seq limit ${events} + 1) as first
  ) as measured where preceding < ${bytes} order by seq limit ${events}`

/** Cuts a slice. `first` is its `sliceOf`, for those who have prepared the statement. */
export const cut = Effect.fnUntraced(function* <Entry extends LogEntry>(
  db: Database["Type"],
  slicing: () => Slicing,
  first?: Query<Found<Entry>>
): Effect.fn.Return<Slice<Entry>> {
  const small = yield* db.all(first ?? sliceOf<Entry>(db.sql, slicing()))
  const events = small.length > 0 ? small : yield* db.all(largeSliceOf<Entry>(db.sql, slicing()))
  return { events, isWhole: events.length === (events[0]?.found ?? 0) }
})
