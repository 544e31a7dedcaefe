import type { SqlClient } from "@effect/sql"
import type { Fragment } from "@effect/sql/Statement"
import { fromNow } from "@reins/base/domain/Timestamp"
import { type Clock, Effect } from "effect"

/** A value of `DbClock.after`, for a placeholder of a statement. It means nothing anywhere else. */
export type Moment = string | number

/**
 * The clock of the database. Processes of several machines compare leases by it, because their own clocks may differ. Where one process
 * works on the database, as on SQLite, it is the clock of that process.
 */
export interface DbClock {
  /** The text of the instant `millis` after the one at which the statement runs that it stands in, or before it when `millis` is negative. */
  readonly at: (millis: number) => Effect.Effect<Fragment>
  /** The value for a placeholder of a prepared statement that means the instant `millis` after the one at which the statement runs. */
  readonly after: (millis: number) => Effect.Effect<Moment>
  /** The text of the instant that a value of `after` means, for a prepared statement. It is a `Timestamp`. */
  readonly instant: (moment: Moment) => Fragment
  /**
   * The time of the database for everything outside of statements, without a round trip. It is behind by as long as a statement takes, and
   * never ahead. Null when the clock of the process is the one.
   */
  readonly ofProcess: Clock.Clock | null
}

/** The clock of the process, which a test may move. */
export const processClock = (sql: SqlClient.SqlClient): DbClock => ({
  at: (millis) => Effect.map(fromNow(millis), (at) => sql`${at}`),
  after: fromNow,
  instant: (moment) => sql`${moment}`,
  ofProcess: null
})

/** The clock of the PostgreSQL server. `ofProcess` is what the process knows of it. */
export const serverClock = (sql: SqlClient.SqlClient, ofProcess: Clock.Clock): DbClock => {
  // The function is stable, so that an index serves a comparison with it.
  const instant = (millis: Moment) =>
    sql`to_char((statement_timestamp() + cast(${millis} as double precision) * interval '1 millisecond') at time zone 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
  return { at: (millis) => Effect.sync(() => instant(millis)), after: Effect.succeed, instant, ofProcess }
}
